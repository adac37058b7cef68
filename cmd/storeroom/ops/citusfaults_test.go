//go:build ops && citus

package ops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// recoveryInterval is citus.recover_2pc_interval in deploy/citus/postgresql.conf.
const recoveryInterval = 10 * time.Second

// A transaction of several nodes is interrupted after the nodes have prepared it. Citus completes it after the restart
// of the coordinator: it commits the transaction on all nodes if the coordinator had committed it, otherwise on none.
func TestCitusCompletesInterruptedTransactions(t *testing.T) {
	c := startCitus(t, 2)
	c.join(t)
	c.createBank(t)
	coordinator := c.nodes[0]
	for n, test := range []struct {
		name  string
		holds *server // the node that does not complete its part before the fault
		want  string
	}{
		{"after the commit of the coordinator", coordinator, "2 legs, 1 booked"},
		{"before the commit of the coordinator", c.nodes[2], "0 legs, 0 booked"},
	} {
		t.Run(test.name, func(t *testing.T) {
			id := int64(n)
			// A server that waits for a synchronous standby has written the end of a transaction, but does not go on.
			mustConfigure(t, test.holds, "synchronous_standby_names", "nobody")
			ended := make(chan error, 1)
			go func() { ended <- (&transfers{}).transfer(context.WithoutCancel(t.Context()), c.super(t), id) }()
			await(t, 20*time.Second, "the transaction to be prepared", func() bool { return c.prepared(t) > 0 })
			if test.holds == coordinator {
				await(t, 20*time.Second, "the coordinator to commit", func() bool {
					return mustQuery[int64](t, coordinator.AdminURL,
						`select count(*) from pg_stat_activity where wait_event = 'SyncRep' and datname = 'storeroom'`) > 0
				})
			}
			coordinator.kill(t)
			coordinator.stop(t)
			if err := <-ended; err == nil {
				t.Error("the transfer was acknowledged")
			}
			coordinator.start(t)
			mustConfigure(t, test.holds, "synchronous_standby_names", "")
			took := await(t, 3*recoveryInterval, "Citus to complete the transaction", func() bool { return c.prepared(t) == 0 })
			t.Logf("Citus completed the transaction %v after the restart", took.Round(time.Millisecond))
			if got := c.transferOf(t, id); got != test.want {
				t.Errorf("the transfer has %s, want %s", got, test.want)
			}
		})
	}
}

// mustConfigure changes a setting of a running server, or resets it if the value is empty.
func mustConfigure(t *testing.T, s *server, setting, value string) {
	t.Helper()
	if value == "" {
		mustExec(t, s.AdminURL, "alter system reset "+setting)
	} else {
		mustExec(t, s.AdminURL, "alter system set "+setting+" = '"+value+"'")
	}
	mustExec(t, s.AdminURL, "select pg_reload_conf()")
}

// prepared returns the number of prepared transactions of all nodes.
func (c *citusCluster) prepared(t *testing.T) (count int64) {
	t.Helper()
	for _, s := range c.nodes {
		count += mustQuery[int64](t, s.AdminURL, `select count(*) from pg_prepared_xacts`)
	}
	return count
}

// transferOf describes what all nodes have of a transfer.
func (c *citusCluster) transferOf(t *testing.T, id int64) string {
	t.Helper()
	legs := mustQuery[int64](t, c.super(t), `select count(*) from bank.transfers where id = $1`, id)
	booked := mustQuery[int64](t, c.super(t), `select count(*) from bank.booked where id = $1`, id)
	return fmt.Sprintf("%d legs, %d booked", legs, booked)
}

// metrics.sh reports nodes that are down and prepared transactions that nobody completes.
func TestCitusMetricsOfNodes(t *testing.T) {
	c := startCitus(t, 2)
	c.join(t)
	for n, s := range c.nodes {
		if value := c.metrics(t)["storeroom_node_up "+hostOf(t, s.AdminURL)]; value != "1" {
			t.Errorf("node %d is %q, want 1", n, value)
		}
	}
	found := c.metrics(t)
	for _, s := range c.nodes[1:] {
		if got := found["storeroom_node_shard_groups "+hostOf(t, s.AdminURL)]; got != "2" {
			t.Errorf("%s has %q shard groups, want 2", hostOf(t, s.AdminURL), got)
		}
	}
	conn, err := pgx.Connect(t.Context(), urlOf(t, c.nodes[1], ""))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	const leave = `begin; select pg_current_xact_id(); prepare transaction 'left over'`
	if _, err := conn.PgConn().Exec(t.Context(), leave).ReadAll(); err != nil {
		t.Fatal(err)
	}
	await(t, 20*time.Second, "the age of the prepared transaction", func() bool {
		age := c.metrics(t)["storeroom_node_prepared_seconds "+hostOf(t, c.nodes[1].AdminURL)]
		return age != "" && age != "0"
	})
	c.nodes[2].stop(t)
	found = c.metrics(t)
	for n, want := range []string{"1", "1", "0"} {
		if got := found["storeroom_node_up "+hostOf(t, c.nodes[n].AdminURL)]; got != want {
			t.Errorf("node %d is %q, want %s", n, got, want)
		}
	}
	c.nodes[2].start(t)
}

// metrics runs metrics.sh and returns the values by name and node.
func (c *citusCluster) metrics(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	host, port, _ := strings.Cut(hostOf(t, c.nodes[0].AdminURL), ":")
	c.script(t, []string{"PGHOST=" + host, "PGPORT=" + port, "TEXTFILE_DIR=" + dir}, "metrics.sh")
	text, err := os.ReadFile(filepath.Join(dir, "storeroom_nodes.prom"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, match := range nodeMetric.FindAllStringSubmatch(string(text), -1) {
		values[match[1]+" "+match[2]] = match[3]
	}
	return values
}

var nodeMetric = regexp.MustCompile(`(?m)^(\w+)\{node="([^"]+)"\} (\S+)$`)
