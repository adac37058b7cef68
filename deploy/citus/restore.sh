#!/bin/sh
# Completes the restore of a cluster, after restore-node.sh and the start of PostgreSQL on each node, and verifies it:
#
#   restore.sh "GROUP HOST PORT" ...   the new address of each node in BACKUP/nodes
#
# PGDATABASE is the database, PGUSER the superuser, who logs in to all nodes with the certificate of a node, as for
# backup.sh. DATABASE_ADMIN_URL is that of the restored coordinator, for `storeroom verify`.
#
#   STOREROOM      the program (default: storeroom in the PATH)
#   TEXTFILE_DIR   directory of node_exporter's textfile collector; empty: no metric
set -eu
umask 077

[ $# -ge 2 ] || {
    echo "usage: restore.sh \"GROUP HOST PORT\" \"GROUP HOST PORT\" ..." >&2
    exit 2
}
for variable in PGDATABASE DATABASE_ADMIN_URL; do
    eval "[ -n \"\${$variable:-}\" ]" || {
        echo "restore.sh: $variable is not set" >&2
        exit 2
    }
done

# on "GROUP HOST PORT" SQL runs a statement on a node.
on() {
    PGHOST=$(echo "$1" | cut -d ' ' -f 2) PGPORT=$(echo "$1" | cut -d ' ' -f 3) \
        psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 --command="$2"
}

update=
for node in "$@"; do
    case $node in
    [0-9]*' '*' '[0-9]*) ;;
    *)
        echo "restore.sh: \"$node\" is not \"GROUP HOST PORT\"" >&2
        exit 2
        ;;
    esac
    group=${node%% *}
    [ "$group" != 0 ] || coordinator=$node
    host=$(echo "$node" | cut -d ' ' -f 2)
    port=$(echo "$node" | cut -d ' ' -f 3)
    update="$update update pg_dist_node set nodename = '$host', nodeport = $port where groupid = $group;"
done
[ "$(on "${coordinator:?no address of group 0}" 'select count(*) from pg_dist_node')" = $# ] || {
    echo "restore.sh: the backup has another number of nodes than the $# addresses" >&2
    exit 1
}
for node in "$@"; do
    tries=0
    while [ "$(on "$node" 'select pg_is_in_recovery()')" != f ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || {
            echo "restore.sh: node $node has not reached the restore point in ten minutes; see its log" >&2
            exit 1
        }
        sleep 1
    done
    on "$node" "$update"
done
# Only now may nodes connect to each other.
for node in "$@"; do
    for setting in citus.node_conninfo restore_command recovery_target_name recovery_target_action; do
        on "$node" "alter system reset $setting"
    done
    on "$node" 'select pg_reload_conf()' >/dev/null
done

# A transaction that was prepared at the restore point is committed or rolled back, as its first node decided.
for node in "$@"; do
    on "$node" 'select recover_prepared_transactions()' >/dev/null
done
for node in "$@"; do
    [ "$(on "$node" 'select count(*) from pg_prepared_xacts')" = 0 ] || {
        echo "restore.sh: node $node has prepared transactions that Citus does not know" >&2
        exit 1
    }
done

"${STOREROOM:-storeroom}" migrate
"${STOREROOM:-storeroom}" verify --all

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
