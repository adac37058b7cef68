package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestASuspendedTenantCannotHaveNewKeys(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	key := p.mustKey(t, "acme", "100")
	id := fmt.Sprint(key.ID)
	p.mustRun(t, &tenantJSON{}, "tenant", "suspend", "--slug", "acme")
	const want = "--tenant: acme is suspended and cannot have new keys: run `storeroom tenant resume --slug acme`"
	for _, args := range [][]string{
		{"key", "create", "--tenant", "acme", "--name", "New", "--scopes", "full"},
		{"key", "roll", "--tenant", "acme", "--id", id},
	} {
		if o := p.run(t, args...); o.code != 1 || o.stdout != "" || !strings.Contains(o.stderr, want) {
			t.Errorf("%v = %+v, want an error", args, o)
		}
	}
	if o := p.run(t, "key", "revoke", "--tenant", "acme", "--id", id); o.code != 0 {
		t.Errorf("key revoke = %+v, want success", o)
	}
	p.mustRun(t, &tenantJSON{}, "tenant", "resume", "--slug", "acme")
	p.mustRun(t, &keyJSON{}, "key", "create", "--tenant", "acme", "--name", "New", "--scopes", "full")
}

func TestCommandsRefuseInvisibleCharacters(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.mustKey(t, "acme", "100")
	for _, args := range [][]string{
		{"key", "create", "--tenant", "acme", "--scopes", "full", "--name", "llit\u202e"},
		{"tenant", "create", "--slug", "bolt", "--name", "llit\u202e"},
		{"tenant", "set", "--slug", "acme", "--name", "llit\u202e"},
	} {
		if o := p.run(t, args...); o.code != 1 ||
			!strings.Contains(o.stderr, "--name must not contain the invisible character U+202E") {
			t.Errorf("%v = %+v, want an error about the character", args[:2], o)
		}
	}
}
