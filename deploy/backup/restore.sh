#!/bin/sh
# Brings a dump back into an empty database and proves it: restore.sh DUMP
#
# Where to is libpq's own to say, as for backup.sh: PGHOST, PGPORT, PGDATABASE,
# PGUSER, PGPASSFILE, PGSSLMODE. The role is storeroom_migrator; nobody has to be a
# superuser. The roles and the empty database are there already, made by the SQL of
# `storeroom migrate --print-roles`.
#
#   STOREROOM      the program (default: storeroom, of the PATH)
#   RESTORE_JOBS   how many tables are loaded at once (default 2)
#   TEXTFILE_DIR   where node_exporter reads textfiles; empty: no metric is written
#
# It ends with exit code 0 when the schema is of this program's version and
# `storeroom verify` agrees for every tenant. After a failure drop the database, and
# begin with an empty one.
set -eu
umask 077

[ $# -eq 1 ] || {
    echo "usage: restore.sh DUMP" >&2
    exit 2
}
dump=$1
program=${STOREROOM:-storeroom}
jobs=${RESTORE_JOBS:-2}
[ -n "${PGDATABASE:-}" ] || {
    echo "restore.sh: PGDATABASE is not set" >&2
    exit 2
}
[ -r "$dump" ] || {
    echo "restore.sh: cannot read $dump" >&2
    exit 2
}

sql() {
    psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 --command="$1"
}

# The program takes the server from the same variables, so that what is verified is
# what was restored, whatever URL the environment holds.
storeroom() {
    DATABASE_ADMIN_URL=postgres:// "$program" "$@"
}

if [ -r "$dump.sha256" ]; then
    want=$(cut -d ' ' -f 1 "$dump.sha256")
    got=$(sha256sum "$dump" | cut -d ' ' -f 1)
    [ "$want" = "$got" ] || {
        echo "restore.sh: $dump is not what backup.sh wrote: its SHA-256 is another" >&2
        exit 1
    }
fi
[ "$(sql "select count(*) from pg_class where relnamespace = 'public'::regnamespace")" = 0 ] || {
    echo "restore.sh: the database $PGDATABASE is not empty: make a new one" >&2
    exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
started=$(date +%s)

# Foreign keys are checked as the owner, whom the forced policies hold too. So
# row-level security is switched on last, when every key stands.
pg_restore --list "$dump" >"$work/all"
grep ' ROW SECURITY ' "$work/all" >"$work/policed"
grep -v ' ROW SECURITY ' "$work/all" >"$work/rest"

# Only who may create in a schema can be given a function there.
sql 'set role storeroom_owner; grant create on schema public to storeroom_search'
pg_restore --role=storeroom_owner --dbname="$PGDATABASE" --exit-on-error --jobs="$jobs" --use-list="$work/rest" "$dump"
pg_restore --role=storeroom_owner --dbname="$PGDATABASE" --exit-on-error --use-list="$work/policed" "$dump"
# A dump that the owner made (README.md) was made while the policies were not forced.
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 <<'END'
set role storeroom_owner;
select format('alter table %s force row level security', oid::regclass) from pg_class
 where relnamespace = 'public'::regnamespace and relrowsecurity and not relforcerowsecurity \gexec
END
sql 'set role storeroom_owner; revoke create on schema public from storeroom_search'
PGOPTIONS="${PGOPTIONS:-} -c client_min_messages=error" sql 'set role storeroom_owner; analyze' # a dump has no statistics
echo "restored in $(($(date +%s) - started)) s"

storeroom migrate
sql 'select slug from tenants order by id' >"$work/tenants"
while read -r tenant; do
    echo "verify $tenant"
    storeroom verify --tenant "$tenant" </dev/null
done <"$work/tenants"
echo "verified $(wc -l <"$work/tenants" | tr -d ' ') tenants; $(($(date +%s) - started)) s in all"

if [ -n "${TEXTFILE_DIR:-}" ]; then
    metric=$TEXTFILE_DIR/storeroom_restore_test.prom
    cat >"$metric.$$" <<END
# HELP storeroom_restore_test_last_success_timestamp_seconds When a dump was last restored and verified.
# TYPE storeroom_restore_test_last_success_timestamp_seconds gauge
storeroom_restore_test_last_success_timestamp_seconds $(date +%s)
END
    chmod 644 "$metric.$$"
    mv "$metric.$$" "$metric"
fi
