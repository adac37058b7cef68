#!/bin/sh
# Writes what a Citus cluster says about its nodes to TEXTFILE_DIR, for node_exporter's textfile collector: metrics.sh
#
# Run it every minute on the coordinator; ../systemd has a timer. The connection is that of backup.sh: PGHOST, PGPORT,
# PGDATABASE, PGUSER and the certificate of the node.
set -eu

if [ $# -ne 0 ] || [ -z "${PGDATABASE:-}" ] || [ ! -d "${TEXTFILE_DIR:-}" ]; then
    echo "usage: PGDATABASE=storeroom TEXTFILE_DIR=DIRECTORY metrics.sh" >&2
    exit 2
fi
metric=$TEXTFILE_DIR/storeroom_nodes.prom
trap 'rm -f "$metric.$$"' EXIT
trap 'exit 1' HUP INT TERM

# A node that does not answer has no other metrics.
psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 >"$metric.$$" <<'END'
set client_min_messages = error;
set citus.node_connection_timeout = '5s';
create temporary table nodes as
select n.nodename || ':' || n.nodeport as node, n.groupid, n.shouldhaveshards,
       (select bool_and(h.result) from citus_check_cluster_node_health() h
         where h.to_nodename = n.nodename and h.to_nodeport = n.nodeport) as up
  from pg_dist_node n
 where n.noderole = 'primary';

select '# HELP storeroom_node_up Whether all nodes of the cluster reach this one.';
select '# TYPE storeroom_node_up gauge';
select format('storeroom_node_up{node="%s"} %s', node, up::int) from nodes order by node;

select '# HELP storeroom_node_shard_groups Shard groups on the node, each with the rows of some tenants.';
select '# TYPE storeroom_node_shard_groups gauge';
select format('storeroom_node_shard_groups{node="%s"} %s', node,
              (select count(*)
                 from pg_dist_placement p
                 join pg_dist_shard s using (shardid)
                where s.logicalrelid = 'storeroom_citus.shards'::regclass and p.groupid = nodes.groupid))
  from nodes where shouldhaveshards order by node;

create temporary table prepared as
select p.nodeid, p.result from run_command_on_all_nodes(
    $$select coalesce(extract(epoch from now() - min(prepared))::bigint, 0) from pg_prepared_xacts$$,
    give_warning_for_connection_errors => true) p
 where p.success;
select '# HELP storeroom_node_prepared_seconds Age of the oldest prepared transaction.';
select '# TYPE storeroom_node_prepared_seconds gauge';
select format('storeroom_node_prepared_seconds{node="%s"} %s', n.node, p.result)
  from nodes n
  join pg_dist_node d using (groupid)
  join prepared p on p.nodeid = d.nodeid
 where d.noderole = 'primary' and n.up
 order by n.node;
END
cat >>"$metric.$$" <<END
# HELP storeroom_nodes_checked_timestamp_seconds Time of this check.
# TYPE storeroom_nodes_checked_timestamp_seconds gauge
storeroom_nodes_checked_timestamp_seconds $(date +%s)
END
chmod 644 "$metric.$$"
mv "$metric.$$" "$metric"
