//go:build ops

package ops

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// previousRelease is the commit of the release before this one. Change it with each release.
const previousRelease = "8c46c901a4376ed976044d60d5325d3bbbaeb7ed"

// mustBuildPrevious builds the program of the previous release from the history of the repository.
func mustBuildPrevious(t *testing.T) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "source")
	command := func(dir, name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	command(".", "git", "worktree", "add", "--detach", source, previousRelease)
	t.Cleanup(func() { _ = exec.Command("git", "worktree", "remove", "--force", source).Run() })
	path := filepath.Join(t.TempDir(), "storeroom")
	command(source, "go", "build", "-trimpath", "-buildvcs=false", "-o", path, "./cmd/storeroom")
	return path
}

// use makes the service start another program until the test ends.
func use(t *testing.T, path string) (before string) {
	before = program
	program = path
	t.Cleanup(func() { program = before })
	return before
}

// An upgrade in the order of the handbook, with requests all the time: the previous release serves before and after
// migrate, then beside the new one, then again alone. What each writes, all read, and the sums are exact.
func TestThePreviousReleaseServesOnTheNewSchema(t *testing.T) {
	previous := mustBuildPrevious(t)
	current := use(t, previous)
	h := newService(t, "STOREROOM_LOG_LEVEL=warn")
	k := h.tenant(t, "acme", 1_000_000)
	work := func(phase string, instances ...*instance) {
		t.Helper()
		first := newClient(t, instances[0].base, k.Key, false)
		var hook struct{ ID int64 }
		first.must(t, "POST", "/api/webhooks", map[string]any{"url": "https://192.0.2.1.invalid/hook"}, &hook)
		var group errgroup.Group
		for n := range 4 {
			group.Go(func() error {
				c := newClient(t, instances[n%len(instances)].base, k.Key, false)
				if err := c.work(t.Context(), fmt.Sprintf("%s-%d", phase, n)); err != nil {
					return fmt.Errorf("%s: %w", phase, err)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
		first.mustImport(t, fmt.Sprintf("sku,name,price\n%[1]s-I-1,Imported,10\n%[1]s-I-2,Imported,20\n", phase))
		await(t, time.Minute, "an attempt to deliver a webhook", func() bool {
			var attempts []any
			first.must(t, "GET", fmt.Sprintf("/api/webhooks/%d/deliveries", hook.ID), nil, &attempts)
			return len(attempts) > 0
		})
	}
	// verify awaits the work of background tasks: it compares what they have done.
	verify := func(phase string) {
		t.Helper()
		program = current
		h.run(t, "", nil, "verify", "--all")
		t.Log(phase, h.texts(t, `select count(*) || ' orders, revenue ' || sum(revenue) from orders`))
	}

	old := h.startInstances(t, 2)
	work("BEFORE", old...)
	program = current
	var group errgroup.Group
	group.Go(func() error { // it writes while the new program migrates
		return newClient(t, old[0].base, k.Key, false).work(t.Context(), "DURING")
	})
	h.run(t, "", nil, "migrate")
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	verify("migrated")

	const state = `
		select concat_ws(' ', version, name, applied_at, functions) from schema_migrations
		union all
		select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace and prokind = 'f'
		union all
		select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
		 order by 1`
	schema := h.texts(t, state)
	program = previous
	if err := h.try(t, "migrate"); err != nil {
		t.Log("migrate of the previous release: ", err)
	}
	if now := h.texts(t, state); fmt.Sprint(now) != fmt.Sprint(schema) {
		t.Errorf("migrate of the previous release changes %v to %v", schema, now)
	}
	work("AFTER", old...)
	verify("the previous release wrote on the new schema")

	fresh := h.startInstances(t, 1)
	work("BESIDE", fresh[0], old[0])
	verify("both wrote")

	program = previous
	restarted := h.startInstances(t, 1) // goes back
	work("BACK", restarted...)
	verify("the previous release wrote again")
	filled := func() bool { return h.texts(t, `select count(*)::text from unfilled_texts`)[0] == "0" }
	for deadline := time.Now().Add(time.Minute); !filled(); time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			t.Fatal("the new release does not fill the texts that the previous one leaves out")
		}
	}
	verify("later")
}
