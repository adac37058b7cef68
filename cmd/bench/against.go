package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
)

// ofBefore is the least share of the other commit's rate that is not reported as missed.
const ofBefore = 0.95

// ownBaseline matches scenarios that send the same requests as another one, or none at all.
var ownBaseline = regexp.MustCompile(`, against `)

// compare runs the scenarios on this program and on that of another commit alternately. The other commit generates the
// data with its own cmd/bench. A copy of its database is migrated for this program.
func compare(ctx context.Context, o options, out io.Writer) (err error) {
	temporary, err := os.MkdirTemp("", "storeroom-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	if o.dir, err = filepath.Abs(filepath.Join(o.dir, "against")); err != nil {
		return err
	}
	program, err := o.buildOther(ctx, temporary, out)
	if err != nil {
		return err
	}

	servers, err := startServers(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Stop()) }()
	o.redis = servers.RedisURL
	const name = "bench_current"
	defer func() { err = errors.Join(err, dropDatabase(context.WithoutCancel(ctx), servers.AdminURL, name)) }()
	all, err := o.openBoth(ctx, servers.AdminURL, name, program, out)
	defer func() { err = errors.Join(err, all.close()) }()
	if err != nil {
		return err
	}
	var r report
	if err := r.measureAll(ctx, o, all.scenarios, report{}, out); err != nil {
		return err
	}
	r.targets(out)
	return nil
}

// buildOther builds the program and the benchmark of the other commit in a folder, and generates its data.
func (o options) buildOther(ctx context.Context, folder string, out io.Writer) (program string, err error) {
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
	if err := run(".", "git", "worktree", "add", "--quiet", "--detach", tree, o.against); err != nil {
		return "", err
	}
	defer func() {
		ctx = context.WithoutCancel(ctx)
		err = errors.Join(err, run(".", "git", "worktree", "remove", "--force", tree))
	}()
	if err := errors.Join(
		run(tree, "go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./cmd/storeroom"),
		run(tree, "go", "build", "-trimpath", "-buildvcs=false", "-o", bench, "./cmd/bench"),
	); err != nil {
		return "", err
	}
	return program, run(folder, bench, "-dir", o.dir, "-program", program, "-run", "^$",
		"-products", fmt.Sprint(o.products), "-orders", fmt.Sprint(o.orders))
}

// both are the running programs of two commits, and the scenarios that compare them.
type both struct {
	*programs
	scenarios []scenario
}

// openBoth copies and migrates the database of the other commit and starts both programs. close must be called, also
// after an error.
func (o options) openBoth(ctx context.Context, server, name, program string, out io.Writer) (b both, err error) {
	b.programs = newPrograms(ctx)
	password, peppers, source := rand.Text(), newPeppers(), fmt.Sprintf("bench_%d_%d", o.products, o.orders)
	before, err := makeDatabase(ctx, server, source, password)
	if err != nil {
		return b, err
	}
	shops, err := findShops(ctx, before, []string{large, small, wide}, func(slug string) (string, error) {
		cmd := command(ctx, program, "key", "create", "--tenant", slug, "--name", "bench", "--scopes", "full")
		cmd.Env = []string{"DATABASE_ADMIN_URL=" + before.migrator, "STOREROOM_KEY_PEPPERS=" + peppers}
		output, err := cmd.Output()
		key, _, _ := strings.Cut(string(output), "\n")
		return key, err
	})
	if err != nil {
		return b, err
	}
	now, err := copyDatabase(ctx, server, source, name, password)
	if err != nil {
		return b, err
	}
	old, err := b.start(program, before, o.redis, peppers)
	if err != nil {
		return b, err
	}
	current, err := b.start(o.program, now, o.redis, peppers)
	if err != nil {
		return b, err
	}
	list := func(address string) []scenario {
		s := &service{address: address, shops: shops, bare: &bare{}}
		return slices.DeleteFunc(
			slices.Concat(keyed(s), lists(s, o.products), filters(s, o.products), searches(s), orders(s),
				summaries(s), yearReports(s, o.products), overviews(s), exports(s), writes(s), ingestions(s, o.orders)),
			func(sc scenario) bool { return ownBaseline.MatchString(sc.name) || !o.run.MatchString(sc.name) })
	}
	baselines := list(old)
	for i, sc := range list(current) {
		if err := try(ctx, baselines[i].work); err != nil {
			fmt.Fprintf(out, "%s: not in %s: %v\n", sc.name, o.against, err)
			continue
		}
		sc.baseline, sc.against, sc.target = baselines[i].work, o.against, target{ratio: ofBefore}
		b.scenarios = append(b.scenarios, sc)
	}
	return b, ctx.Err()
}

// try does one step of a work.
func try(ctx context.Context, w work) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	step, err := w(ctx, 0)
	if err == nil {
		_, err = step(ctx)
	}
	return err
}

// copyDatabase copies a database and migrates the copy.
func copyDatabase(ctx context.Context, server, source, name, password string) (d database, err error) {
	if err := dropDatabase(ctx, server, name); err != nil {
		return d, err
	}
	if err := withConn(ctx, server, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "create database "+name+" template "+source+" owner storeroom_owner")
		return err
	}); err != nil {
		return d, fmt.Errorf("copy the database: %w", err)
	}
	if d, err = makeDatabase(ctx, server, name, password); err != nil {
		return d, err
	}
	if err := withConn(ctx, d.migrator, func(conn *pgx.Conn) error {
		_, err := migrations.Apply(ctx, conn)
		return err
	}); err != nil {
		return d, err
	}
	return d, withConn(ctx, d.super, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "vacuum analyze")
		return err
	})
}
