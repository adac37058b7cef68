#!/bin/sh
# Writes one dump of the database: backup.sh DIRECTORY
#
# The connection is set by libpq variables: PGHOST, PGPORT, PGDATABASE, PGUSER,
# PGPASSFILE, PGSSLMODE, PGSERVICE. Passwords are never arguments, because other users of
# the machine can read those. The role is storeroom_backup (see README.md).
#
#   BACKUP_KEEP    number of dumps to keep (default 14)
#   TEXTFILE_DIR   directory of node_exporter's textfile collector; empty: no metric
#
# A failed dump leaves no file behind and deletes no older dump.
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
[ -n "${PGDATABASE:-}${PGSERVICE:-}" ] || {
    echo "backup.sh: PGDATABASE is not set" >&2
    exit 2
}
[ -d "$directory" ] || {
    echo "backup.sh: there is no directory $directory" >&2
    exit 2
}

name=storeroom-$(date -u +%Y%m%dT%H%M%SZ).dump
partial=$directory/.$name.partial
trap 'rm -f "$partial" "$partial.sha256"' EXIT
trap 'exit 1' HUP INT TERM

# pg_dump sets row_security = off, so a role that is subject to the policies gets an error
# instead of a dump without rows. The lock timeout prevents requests from waiting for us
# while a migration holds a lock.
pg_dump --format=custom --lock-wait-timeout=30s --file="$partial"
pg_restore --list "$partial" >/dev/null # what was written can be read
(cd "$directory" && sha256sum ".$name.partial" | sed "s/ .*/  $name/") >"$partial.sha256"
sync "$partial" "$partial.sha256"
mv "$partial.sha256" "$directory/$name.sha256"
mv "$partial" "$directory/$name" # last: a dump under its name is whole
echo "wrote $directory/$name, $(wc -c <"$directory/$name" | tr -d ' ') bytes"

set -- "$directory"/storeroom-*.dump # by name, and so by time
while [ $# -gt "$keep" ]; do
    rm -f "$1" "$1.sha256"
    echo "deleted $1"
    shift
done

if [ -n "${TEXTFILE_DIR:-}" ]; then
    metric=$TEXTFILE_DIR/storeroom_backup.prom
    cat >"$metric.$$" <<END
# HELP storeroom_backup_last_success_timestamp_seconds Time of the last dump.
# TYPE storeroom_backup_last_success_timestamp_seconds gauge
storeroom_backup_last_success_timestamp_seconds $(date +%s)
# HELP storeroom_backup_size_bytes Size of the last dump.
# TYPE storeroom_backup_size_bytes gauge
storeroom_backup_size_bytes $(wc -c <"$directory/$name" | tr -d ' ')
END
    chmod 644 "$metric.$$"
    mv "$metric.$$" "$metric"
fi
