#!/bin/sh
# Backs up all nodes of a Citus cluster, up to one moment: backup.sh DIRECTORY
#
# It copies each node while the service runs, then creates a restore point on all nodes at once and stores the WAL up to
# it. Run it on a node as the user postgres. PGHOST and PGPORT name the coordinator, PGDATABASE the database. PGUSER is
# the superuser, who logs in with the certificate of the node: PGSSLMODE=verify-full, PGSSLROOTCERT, PGSSLCERT, PGSSLKEY.
#
#   BACKUP_KEEP    number of backups to keep in DIRECTORY (default 14)
#   TEXTFILE_DIR   directory of node_exporter's textfile collector; empty: no metric
#
# The result is a folder storeroom-TIME with a folder for each group, which is 0 for the coordinator.
set -eu
umask 077

[ $# -eq 1 ] || {
    echo "usage: backup.sh DIRECTORY" >&2
    exit 2
}
directory=$1
keep=${BACKUP_KEEP:-14}
case $keep in
'' | *[!0-9]* | 0)
    echo "backup.sh: BACKUP_KEEP must be a number from 1, not $keep" >&2
    exit 2
    ;;
esac
[ -n "${PGDATABASE:-}" ] || {
    echo "backup.sh: PGDATABASE is not set" >&2
    exit 2
}
[ -d "$directory" ] || {
    echo "backup.sh: there is no directory $directory" >&2
    exit 2
}

sql() {
    psql --no-psqlrc --quiet --tuples-only --no-align --field-separator=' ' --set=ON_ERROR_STOP=1 --command="$1"
}

# on GROUP COMMAND... runs a command with the address of a node.
on() {
    node=$(grep "^$1 " "$partial/nodes")
    shift
    PGHOST=$(echo "$node" | cut -d ' ' -f 2) PGPORT=$(echo "$node" | cut -d ' ' -f 3) "$@"
}

name=storeroom-$(date -u +%Y%m%dT%H%M%SZ)
slot=storeroom_backup_$$
partial=$directory/.$name.partial
mkdir "$partial"
cleanup() {
    trap - EXIT
    for group in ${groups:-}; do # a slot that is left, after a failure, would keep all WAL
        on "$group" sql "select pg_drop_replication_slot('$slot')" >/dev/null 2>&1 || :
    done
    rm -rf "$partial"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

sql "select groupid, nodename, nodeport from pg_dist_node where noderole = 'primary' order by groupid" >"$partial/nodes"
groups=$(cut -d ' ' -f 1 "$partial/nodes")
echo "$groups" | grep -qx 0 || {
    echo "backup.sh: the cluster has no coordinator with an address: call citus_set_coordinator_host" >&2
    exit 1
}

# The slot keeps the WAL from before the copy until the restore point.
for group in $groups; do
    on "$group" sql "select pg_create_physical_replication_slot('$slot', true)" >/dev/null
done
pids=
for group in $groups; do
    on "$group" pg_basebackup --no-password --pgdata="$partial/$group" --format=tar --gzip --wal-method=none --no-slot \
        --checkpoint=fast 2>"$partial/$group.log" &
    pids="$pids $!"
done
for pid in $pids; do
    wait "$pid" || {
        cat "$partial"/*.log >&2
        exit 1
    }
done
rm -f "$partial"/*.log

# Citus commits no transaction of several nodes while it creates the restore point.
sql "select citus_create_restore_point('$name')" >/dev/null
for group in $groups; do
    end=$(on "$group" sql 'select pg_switch_wal()')
    mkdir "$partial/$group/wal"
    on "$group" pg_receivewal --no-password --slot="$slot" --directory="$partial/$group/wal" --endpos="$end" --no-loop
    on "$group" sql "select pg_drop_replication_slot('$slot')" >/dev/null
done
for group in $groups; do
    for segment in "$partial/$group"/wal/*; do
        gzip "$segment"
        case $segment in *.partial) mv "$segment.gz" "${segment%.partial}.gz" ;; esac
    done
    [ "$(cd "$partial/$group" && echo *.tar.gz)" = base.tar.gz ] || {
        echo "backup.sh: group $group has tablespaces, which restore-node.sh does not restore" >&2
        exit 1
    }
    (cd "$partial/$group" && find . -type f -exec sha256sum {} +) >"$partial/sums"
    mv "$partial/sums" "$partial/$group/SHA256"
done
echo "$name" >"$partial/restore-point"
find "$partial" -exec sync {} +
groups=
mv "$partial" "$directory/$name" # last: a backup under its name is whole
size=$(du -sk "$directory/$name" | cut -f 1)
echo "wrote $directory/$name, $size KiB"

set -- "$directory"/storeroom-*Z # by name, and so by time
while [ $# -gt "$keep" ]; do
    rm -rf "$1"
    echo "deleted $1"
    shift
done

if [ -n "${TEXTFILE_DIR:-}" ]; then
    metric=$TEXTFILE_DIR/storeroom_backup.prom
    cat >"$metric.$$" <<END
# HELP storeroom_backup_last_success_timestamp_seconds Time of the last backup.
# TYPE storeroom_backup_last_success_timestamp_seconds gauge
storeroom_backup_last_success_timestamp_seconds $(date +%s)
# HELP storeroom_backup_size_bytes Size of the last backup.
# TYPE storeroom_backup_size_bytes gauge
storeroom_backup_size_bytes $((size * 1024))
END
    chmod 644 "$metric.$$"
    mv "$metric.$$" "$metric"
fi
