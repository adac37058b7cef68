package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// ofBefore is the least share of the other commit's rate that is not reported as missed.
const ofBefore = 0.95

// compare runs the scenarios on this program and on that of another commit alternately. The other commit generates the
// data with its own cmd/bench. A copy of its database is migrated for this program.
func compare(ctx context.Context, o options, out io.Writer) {
	temporary := must(os.MkdirTemp("", "storeroom-bench-"))
	defer closing(func() error { return os.RemoveAll(temporary) })
	o.dir = must(filepath.Abs(filepath.Join(o.dir, "against")))
	program := o.buildOther(ctx, temporary, out)

	servers := startServers(ctx, &o)
	defer closing(servers.Stop)
	before := &instance{
		program: program, database: servers.database(ctx, o.databaseName()), redis: o.redis, peppers: newPeppers(),
	}
	shops := findShops(ctx, before.database, []string{large, small, wide}, func(found shop) string {
		return before.createKey(ctx, found.slug)
	})
	const name = "bench_current"
	defer closing(func() error { return servers.drop(context.WithoutCancel(ctx), name) })
	now := &instance{
		program: o.program, database: servers.copy(ctx, o.databaseName(), name), redis: o.redis, peppers: before.peppers,
	}
	for _, i := range []*instance{before, now} {
		defer closing(i.close)
		i.start(ctx)
	}
	now.finishUpgrade(ctx)
	list := func(i *instance) []scenario {
		s := &service{address: i.address, shops: shops, bare: &bare{}}
		return slices.DeleteFunc(scenarios(s, o.products, o.orders), func(sc scenario) bool {
			// Some send the same requests as another one, to a baseline of their own.
			return strings.Contains(sc.name, ", against ") || !o.run.MatchString(sc.name)
		})
	}
	var all []scenario
	baselines := list(before)
	for n, sc := range list(now) {
		if err := try(ctx, baselines[n].work); err != nil {
			check(ctx.Err())
			fmt.Fprintf(out, "%s: not in %s: %v\n", sc.name, o.against, err)
			continue
		}
		sc.baseline, sc.against, sc.target = baselines[n].work, o.against, target{ratio: ofBefore}
		sc.memory = nil // of this process, which is only the client
		all = append(all, sc)
	}
	measureAll(ctx, o, all, nil, out).printTargets(out)
}

// try does one step of a work.
func try(ctx context.Context, w work) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the client
	_, err := (&side{work: w, clients: 1}).round(ctx, 0)
	return err
}

// copy copies a database and migrates the copy.
func (s servers) copy(ctx context.Context, source, name string) database {
	check(s.drop(ctx, name))
	execute(ctx, s.AdminURL, "create database "+name+" template "+source+" owner storeroom_owner")
	d := s.database(ctx, name)
	migrate(ctx, d)
	return d
}

// finishUpgrade waits until the program has done the work that migrations queued, such as the texts of searches. The
// other program would wait for the same CPUs.
func (i *instance) finishUpgrade(ctx context.Context) {
	withConn(ctx, i.database.super, func(conn *pgx.Conn) {
		for {
			check(ctx.Err())
			var queued bool
			check(conn.QueryRow(ctx, `select exists (select from tenants_with_work where due <= now() or worker is not null)`).
				Scan(&queued))
			if !queued {
				break
			}
			time.Sleep(time.Second)
		}
		must(conn.Exec(ctx, "vacuum analyze"))
	})
}

// buildOther builds the program and the benchmark of the other commit in a folder, and generates its data.
func (o options) buildOther(ctx context.Context, folder string, out io.Writer) (program string) {
	run := func(dir string, program string, args ...string) error {
		cmd := command(ctx, program, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s %s: %w", filepath.Base(program), strings.Join(args, " "), err)
		}
		return nil
	}
	tree, bench := filepath.Join(folder, "tree"), filepath.Join(folder, "bench")
	program = filepath.Join(folder, "storeroom")
	check(run(".", "git", "worktree", "add", "--quiet", "--detach", tree, o.against))
	defer closing(func() error {
		ctx = context.WithoutCancel(ctx)
		return run(".", "git", "worktree", "remove", "--force", tree)
	})
	check(run(tree, "go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./cmd/storeroom"))
	check(run(tree, "go", "build", "-trimpath", "-buildvcs=false", "-o", bench, "./cmd/bench"))
	check(run(folder, bench, "-dir", o.dir, "-program", program, "-run", "^$",
		"-products", fmt.Sprint(o.products), "-orders", fmt.Sprint(o.orders)))
	return program
}

// createKey creates a key with the command, which works with the schema of its commit.
func (i *instance) createKey(ctx context.Context, slug string) string {
	key, _, _ := strings.Cut(i.run(ctx, "key", "create", "--tenant", slug, "--name", "bench", "--scopes", "full"), "\n")
	return key
}
