#!/bin/sh
# Restores the data directory of one node from a backup of backup.sh: restore-node.sh BACKUP GROUP DATA
#
# Run it for each group in BACKUP/nodes, as the user postgres. DATA is absent or empty. Then start PostgreSQL, which
# replays the WAL up to the restore point, and run restore.sh once for the cluster. BACKUP must stay where it is until
# then. The programs of PostgreSQL must be in the PATH. The node connects to no other node before restore.sh: the backup contains the addresses of the original cluster.
set -eu
umask 077

[ $# -eq 3 ] || {
    echo "usage: restore-node.sh BACKUP GROUP DATA" >&2
    exit 2
}
[ -f "$1/$2/base.tar.gz" ] || {
    echo "restore-node.sh: $1 contains no group $2" >&2
    exit 1
}
from=$(cd "$1/$2" && pwd)
point=$(cat "$1/restore-point")
mkdir -p "$3"
data=$(cd "$3" && pwd)
[ -z "$(ls -A "$data")" ] || {
    echo "restore-node.sh: $data is not empty" >&2
    exit 1
}
(cd "$from" && sha256sum --check --quiet SHA256) || {
    echo "restore-node.sh: $from is not what backup.sh wrote" >&2
    exit 1
}

tar -xzf "$from/base.tar.gz" -C "$data"
pg_verifybackup --quiet --no-parse-wal --manifest-path="$from/backup_manifest" "$data"
chmod 700 "$data"
# restore.sh resets the settings of Citus.
cat >>"$data/postgresql.auto.conf" <<END
restore_command = 'gunzip -c "$from/wal/%f.gz" >"%p"'
recovery_target_name = '$point'
recovery_target_action = 'promote'
citus.node_conninfo = 'sslmode=verify-full sslrootcert=not-restored'
END
touch "$data/recovery.signal"
