#!/bin/sh
# Restores a dump into an empty database and verifies it: restore.sh DUMP
#
# The connection is set by libpq variables, as for backup.sh: PGHOST, PGPORT, PGDATABASE,
# PGUSER, PGPASSFILE, PGSSLMODE. The role is storeroom_migrator; no superuser is needed. The
# SQL of `storeroom migrate --print-roles` creates the roles and the empty database.
#
#   STOREROOM      the program (default: storeroom in the PATH)
#   RESTORE_JOBS   number of tables loaded in parallel (default 2)
#   TEXTFILE_DIR   directory of node_exporter's textfile collector; empty: no metric
#
# It exits with 0 if the schema has this program's version and `storeroom verify` succeeds
# for every tenant. After a failure drop the database and start with an empty one.
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

# The program uses the same variables, so that it verifies the restored database and not
# another one named by a URL in the environment.
storeroom() {
    env DATABASE_ADMIN_URL=postgres:// "$program" "$@" # without env, the name storeroom would be this function
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

# PostgreSQL checks foreign keys as the owner, to whom forced policies apply. Therefore
# row-level security is enabled last, after all keys exist.
pg_restore --list "$dump" >"$work/all"
grep ' ROW SECURITY ' "$work/all" >"$work/policed" || {
    echo "restore.sh: $dump is not a dump of Storeroom" >&2
    exit 1
}
# The owner has no privileges on the function of storeroom_search.
grep ' ACL .* storeroom_search$' "$work/all" >"$work/search"
# The functions of pg_catalog belong to a superuser, who restricts them in every new database.
grep -v -e ' ROW SECURITY ' -e ' ACL .* storeroom_search$' -e ' ACL pg_catalog ' "$work/all" >"$work/rest"

# A role must have create on the schema before it can own a function in it.
sql 'set role storeroom_owner; grant create on schema public to storeroom_search'
pg_restore --role=storeroom_owner --dbname="$PGDATABASE" --exit-on-error --jobs="$jobs" --use-list="$work/rest" "$dump"
pg_restore --role=storeroom_owner --dbname="$PGDATABASE" --exit-on-error --use-list="$work/policed" "$dump"
pg_restore --role=storeroom_search --dbname="$PGDATABASE" --exit-on-error --use-list="$work/search" "$dump"
# In a dump made by the owner (README.md) the policies are not forced.
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
# HELP storeroom_restore_test_last_success_timestamp_seconds Time of the last verified restore.
# TYPE storeroom_restore_test_last_success_timestamp_seconds gauge
storeroom_restore_test_last_success_timestamp_seconds $(date +%s)
END
    chmod 644 "$metric.$$"
    mv "$metric.$$" "$metric"
fi
