package ops

import (
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// TestNoAttackAffectsOtherTenants measures more attacks, and the latency.
func TestKnownAttacksFailNoRequestOfOtherTenants(t *testing.T) {
	d := dbtest.New(t)
	super := d.MustSuper(t)
	h := newServiceOf(t, d.SuperURL, d.AdminURL, d.URL)
	i := h.startInstance(t, freePort(t))
	target := &Target{
		TB: t, Address: strings.TrimPrefix(i.base, "http://"), PID: i.Process.Pid,
		Program: program, Dir: h.dir, Environ: h.environ, Divisor: 20,
		SQL: func(statement string) {
			t.Helper()
			if _, err := super.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		},
	}
	others := NewOthers(target, 4)
	for _, a := range All[:7] {
		t.Run(a.Name, func(t *testing.T) {
			target.TB = t
			r := a.Run(target, others, 0, 3*time.Second)
			t.Logf("%d requests, %d MiB; responses to the attackers: %s", r.With.Requests, r.Memory>>20, r.Attackers())
			for _, fault := range r.Faults() {
				t.Error(fault)
			}
		})
	}
}
