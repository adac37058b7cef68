package ops

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// An attack sends a running service the requests of hostile clients, beside the steady traffic of other tenants. It
// must cause no failed or slow request of another tenant, and the instance must not exceed the memory that
// deploy/README.md recommends. All connections stay on this machine. The attackers have addresses in 127.0.2.0/24, the
// others in 127.0.1.0/24.

// MaxMemory is the memory that an instance may use.
const MaxMemory = 512 << 20

// maxP99 is what the p99 latency of others may be in any case.
const maxP99 = 100 * time.Millisecond

// recent is the number of requests that the p99 latency without an attack is computed from. That of one round of 200
// requests is its second slowest.
const recent = 1000

// Target is a service under attack.
type Target struct {
	testing.TB
	Address string // of the running instance, HOST:PORT
	PID     int    // of the instance
	// Program, Dir and Environ run a command of the service.
	Program string
	Dir     string
	Environ []string
	// SQL runs a statement as a superuser.
	SQL func(statement string)
	// Divisor divides the number of products and orders of tenants with many, and of requests before an attack.
	Divisor int

	count   int      // of tenants so far
	sellers []tenant // see the function sellers
	authors []tenant // see the function authors
}

// Attack describes the requests of hostile clients.
type Attack struct {
	Name    string
	tenants func(*Target) []tenant // creates or selects the tenants of the clients
	act     func(*clients)
}

// Round is the effect of an attack on the other tenants.
type Round struct {
	Without, With Traffic
	Memory        int64          // peak of the instance in bytes
	Responses     map[string]int // to the attackers, by status
}

// Run measures the other tenants for a time without the attack, if without is not zero, and then with it. The p99
// latency without an attack is that of the last requests, also of earlier rounds.
func (a Attack) Run(t *Target, o *Others, without, with time.Duration) (r Round) {
	t.Helper()
	attackers := order{a.Name, t.Address, a.tenants(t), t.Program, t.Dir, t.Environ}
	o.warmUp(t)
	if without > 0 {
		r.Without = o.run(t, without)
		o.without = append(o.without, r.Without.took...)
		o.without = o.without[max(0, len(o.without)-recent):]
		r.Without.P99 = p99(o.without)
	}
	t.resetPeakMemory()
	stop := startClients(t, attackers)
	r.With = o.run(t, with)
	r.Responses, r.Memory = stop(), t.peakMemory()
	return r
}

// Faults returns the violated guarantees. It checks latency only after a measurement without the attack: tests that run
// in parallel use the same CPUs.
func (r Round) Faults() (faults []string) {
	if n := len(r.With.Failures); n > 0 {
		faults = append(faults, fmt.Sprintf("%d of %d requests of other tenants failed:\n\t%s",
			n, r.With.Requests, strings.Join(r.With.Failures[:min(n, shown)], "\n\t")))
	}
	if limit := max(maxP99, 10*r.Without.P99); r.Without.P99 > 0 && r.With.P99 > limit {
		faults = append(faults, fmt.Sprintf("the p99 of other tenants was %v, want at most %v. The slowest:\n\t%s",
			r.With.P99, limit, strings.Join(r.With.Slowest, "\n\t")))
	}
	if r.Memory >= MaxMemory {
		faults = append(faults, fmt.Sprintf("the instance used %d MiB, want less than %d", r.Memory>>20, MaxMemory>>20))
	}
	return faults
}

// Header is the head of a Markdown table of rounds.
const Header = `| Attack | Failed | p99 without | p99 with | Peak memory |
|---|---|---|---|---|`

// Row returns the row of the table for an attack.
func (r Round) Row(name string) string {
	return fmt.Sprintf("| %s | %d of %d | %v | %v | %d MiB |", name, len(r.With.Failures), r.With.Requests,
		r.Without.P99.Round(time.Millisecond), r.With.P99.Round(time.Millisecond), r.Memory>>20)
}

// Attackers describes the responses to the attackers.
func (r Round) Attackers() string {
	var all []string
	for _, status := range slices.Sorted(maps.Keys(r.Responses)) {
		all = append(all, fmt.Sprintf("%s: %d", status, r.Responses[status]))
	}
	return strings.Join(all, ", ")
}

// resetPeakMemory resets the peak that peakMemory returns.
func (t *Target) resetPeakMemory() {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", t.PID), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}

// peakMemory returns the greatest resident size of the instance since resetPeakMemory.
func (t *Target) peakMemory() int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.PID))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kibibytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kibibytes << 10
}

// must runs a command of the service, requires success and returns its result.
func (t *Target) must(stdin string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), t.Program, append(args, "--json")...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = t.Dir, t.Environ, strings.NewReader(stdin), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("storeroom %s: %v: %s", strings.Join(args, " "), err, &stderr)
	}
	return out
}
