package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/cmd/storeroom/ops/attacktest"
)

// TestNoAttackAffectsOtherTenants in package ops measures more attacks, and the latency.
func TestKnownAttacksFailNoRequestOfOtherTenants(t *testing.T) {
	p := newProgram(t).with("REDIS_URL=" + privateRedis(t))
	super := p.MustSuper(t)
	server := start(t, p.dir, p.environ, "serve")
	target := &attacktest.Target{
		TB: t, Address: strings.TrimPrefix(server.address(t), "http://"), PID: server.Process.Pid,
		Program: os.Args[0], Dir: p.dir, Environ: server.Env, Divisor: 20,
		SQL: func(statement string) {
			t.Helper()
			if _, err := super.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		},
	}
	others := attacktest.NewOthers(target, 4)
	for _, a := range attacktest.All[:7] {
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
