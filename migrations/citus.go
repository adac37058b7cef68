package migrations

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed citus/distribute.sql
var distributeSQL string

//go:embed citus/adopt.sql
var adoptSQL string

// DefaultShards is the number of shards of a new cluster, which bounds the number of its nodes.
const DefaultShards = 32

// CitusScript returns the statements of Distribute.
func CitusScript() string {
	return "set local citus.enable_unsafe_triggers = on;\n" +
		"set local client_min_messages = warning;\n" + adoptSQL + distributeSQL
}

// Distribute distributes the tables of tenants over the nodes of a Citus cluster and creates the schemas of the shard
// groups; deploy/README.md explains them. It changes only what is missing, and Apply calls it. conn is connected to the
// coordinator.
func Distribute(ctx context.Context, conn *pgx.Conn) error {
	if err := inTx(ctx, conn, true, func(run runScript) error { return run(CitusScript()) }); err != nil {
		return fmt.Errorf("distribute the tables: %w", err)
	}
	rows, err := conn.Query(ctx, `
		select p.shardid, n.nodename, n.nodeport
		  from pg_dist_shard s
		  join pg_dist_placement p using (shardid)
		  join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
		 where s.logicalrelid = 'storeroom_citus.shards'::regclass
		 order by n.nodename, n.nodeport, p.shardid`)
	if err != nil {
		return fmt.Errorf("find the shards: %w", err)
	}
	type placement struct {
		ShardID  int64
		NodeName string
		NodePort uint16
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[placement])
	if err != nil {
		return fmt.Errorf("find the shards: %w", err)
	}
	config := conn.Config().Copy()
	var node *pgx.Conn
	defer func() {
		if node != nil {
			node.Close(context.WithoutCancel(ctx))
		}
	}()
	for _, p := range all {
		address := net.JoinHostPort(p.NodeName, strconv.Itoa(int(p.NodePort)))
		if node == nil || config.Host != p.NodeName || config.Port != p.NodePort {
			if node != nil {
				node.Close(ctx)
			}
			config.Host, config.Port, config.Fallbacks = p.NodeName, p.NodePort, nil
			if config.TLSConfig != nil {
				config.TLSConfig.ServerName = p.NodeName
			}
			if node, err = pgx.ConnectConfig(ctx, config); err != nil {
				return fmt.Errorf("connect to the node %s: %w", address, err)
			}
		}
		if _, err := node.Exec(ctx, `select storeroom_citus.adopt($1)`, p.ShardID); err != nil {
			return fmt.Errorf("create the schema of shard %d on the node %s: %w", p.ShardID, address, err)
		}
	}
	return nil
}

// distributeJoined calls Distribute if the nodes are connected. It completes what was interrupted before.
func distributeJoined(ctx context.Context, conn *pgx.Conn) error {
	var joined bool
	err := conn.QueryRow(ctx, `select to_regclass('storeroom_citus.shards') is not null`).Scan(&joined)
	if err != nil {
		return fmt.Errorf("look for the nodes of a cluster: %w", err)
	}
	if !joined {
		return nil
	}
	return Distribute(ctx, conn)
}

// Distributed reports whether the tables of tenants are distributed.
func Distributed(ctx context.Context, conn *pgx.Conn) (distributed bool, err error) {
	err = conn.QueryRow(ctx, `select to_regclass('storeroom_citus.tenants') is not null`).Scan(&distributed)
	if err != nil {
		return false, fmt.Errorf("look for Citus: %w", err)
	}
	return distributed, nil
}

// JoinStatements returns what a superuser runs in the database of each worker, and then in that of the coordinator, to
// make them a cluster. Each node has the roles and the database of CreateDatabase and can load the extension citus.
// coordinator and workers are host:port.
func JoinStatements(coordinator string, workers []string, shards int) (onWorkers, onCoordinator []string, err error) {
	// Nodes log in to each other as these roles, which have no password: pg_hba.conf admits them with the certificate
	// of a node.
	onCoordinator = []string{"create extension if not exists citus",
		"alter role storeroom_owner login", "alter role storeroom_search login"}
	function := "citus_set_coordinator_host"
	for _, node := range append([]string{coordinator}, workers...) {
		host, port, err := net.SplitHostPort(node)
		if err != nil {
			return nil, nil, err
		}
		onCoordinator = append(onCoordinator, fmt.Sprintf("select %s(%s, %s)", function, quoteLiteral(host), port))
		function = "citus_add_node"
	}
	return []string{"create extension if not exists citus"}, append(onCoordinator,
		"set role storeroom_owner",
		// Citus creates the roles on the workers with the first function that needs them, which only a superuser may
		// do.
		"create function join_nodes() returns void language plpgsql as 'begin end'",
		"grant execute on function join_nodes to storeroom_runtime, storeroom_migrator, storeroom_search",
		"drop function join_nodes",
		"create schema storeroom_citus",
		"create table storeroom_citus.shards (tenant_id bigint primary key)",
		"create table storeroom_citus.definitions "+
			"(kind text not null, name text not null, definition text not null, primary key (kind, name))",
		"reset role", // Citus lets only a superuser create groups of shards
		"select create_reference_table('storeroom_citus.definitions')",
		fmt.Sprintf("select create_distributed_table('storeroom_citus.shards', 'tenant_id', shard_count => %d)", shards),
	), nil
}

// citusSettings let the nodes get the settings of "set local" too, such as the tenant and row_security. Citus refuses
// to create a function after it has changed the shards of a table in parallel.
const citusSettings = "set local citus.propagate_set_commands = 'local';\n" +
	"set local citus.multi_shard_modify_mode = 'sequential';\n"

// oneByOne sends each statement in a message of its own. Citus distributes only statements that are sent alone. It does
// not distribute those of storeroom_search, as which a worker lets nobody become the owner again: shard groups have
// copies of the functions of searches, and nothing uses those in public there.
func oneByOne(script string, send runScript) error {
	for _, statement := range statements(script) {
		var before, after []string
		switch {
		case strings.HasSuffix(statement, "set local role storeroom_search"):
			before = []string{
				"set local citus.propagate_set_commands = 'none'", "set local citus.enable_ddl_propagation = off",
			}
		case strings.HasSuffix(statement, "set local role storeroom_owner"):
			after = []string{
				"set local citus.enable_ddl_propagation = on", "set local citus.propagate_set_commands = 'local'",
			}
		}
		for _, part := range slices.Concat(before, []string{statement}, after) {
			if err := send(part); err != nil {
				return fmt.Errorf("%w in: %.200s", err, strings.TrimSpace(part))
			}
		}
	}
	return nil
}

// statements splits a script at its semicolons, but not in literals, comments and dollar-quoted bodies.
func statements(script string) []string {
	var found []string
	start := 0
	for i := 0; i < len(script); {
		switch rest := script[i:]; {
		case rest[0] == ';':
			found = append(found, script[start:i])
			i++
			start = i
		case rest[0] == '\'' || rest[0] == '"':
			i += 1 + skipTo(rest[1:], rest[:1])
		case strings.HasPrefix(rest, "--"):
			i += skipTo(rest, "\n")
		case rest[0] == '$':
			i += len(dollarQuoted(rest))
		default:
			i++
		}
	}
	found = append(found, script[start:])
	return deleteBlank(found)
}

// skipTo returns the length of text up to and including the next end.
func skipTo(text, end string) int {
	if at := strings.Index(text, end); at >= 0 {
		return at + len(end)
	}
	return len(text)
}

// dollarQuoted returns the body that text begins with, with its tags, or "$".
func dollarQuoted(text string) string {
	end := strings.Index(text[1:], "$") + 2
	if end < 2 || strings.Trim(text[1:end-1], "abcdefghijklmnopqrstuvwxyz_") != "" {
		return "$"
	}
	return text[:end+skipTo(text[end:], text[:end])]
}

// deleteBlank removes statements without words.
func deleteBlank(all []string) []string {
	var kept []string
	for _, statement := range all {
		for line := range strings.Lines(statement) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--") {
				kept = append(kept, statement)
				break
			}
		}
	}
	return kept
}
