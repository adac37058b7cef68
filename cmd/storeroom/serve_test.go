package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

func TestServeRefusesAnUnsafeConfiguration(t *testing.T) {
	t.Parallel()
	variable := func(v string) func(program) string { return func(program) string { return v } }
	for _, test := range []struct {
		name     string
		variable func(program) string
		sql      string // executed first as a superuser
		want     []string
	}{
		{
			name:     "a superuser",
			variable: func(p program) string { return "DATABASE_URL=" + p.SuperURL },
			want:     []string{"DATABASE_URL names a role that may not serve", "is a superuser"},
		},
		{
			name:     "the migrator",
			variable: func(p program) string { return "DATABASE_URL=" + p.AdminURL },
			want:     []string{"storeroom_migrator: is a member of storeroom_owner"},
		},
		{
			name: "an old schema",
			sql: `delete from schema_migrations
			       where version = (select max(version) from schema_migrations)`,
			want: []string{"run `storeroom migrate`"},
		},
		{
			name: "no schema",
			sql:  `drop function schema_version`,
			want: []string{"did you run `storeroom migrate`?"},
		},
		{
			name: "tables without policies",
			sql:  `drop policy tenant on products; alter table stock no force row level security`,
			want: []string{"the schema does not keep tenants apart", "products: ", "stock: "},
		},
		{
			name:     "an invalid Redis URL",
			variable: variable("REDIS_URL=nonsense"),
			want:     []string{"REDIS_URL"},
		},
		{
			name:     "an unavailable database",
			variable: variable("DATABASE_URL=postgres://x:secret@127.0.0.1:1/x"),
			want:     []string{"DATABASE_URL: "},
		},
		{
			name:     "all interfaces without a base URL",
			variable: variable("STOREROOM_ADDR=0.0.0.0:0"),
			want:     []string{"STOREROOM_BASE_URL is not set", "such as https://shop.example.com"},
		},
		{
			name:     "a missing variable",
			variable: variable("REDIS_URL="),
			want:     []string{"REDIS_URL is not set"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(test.sql, "policy") {
				dbtest.SkipOnCitus(t, "TestCitusIsolationOnEveryNode checks the policies")
			}
			p := newProgram(t)
			if test.sql != "" {
				if _, err := p.MustSuper(t).Exec(t.Context(), test.sql); err != nil {
					t.Fatal(err)
				}
			}
			if test.variable != nil {
				p = p.with(test.variable(p))
			}
			o := p.run(t, "serve")
			for _, want := range test.want {
				if o.code != 1 || !strings.Contains(o.stderr, want) {
					t.Errorf("serve = %d, %q, want 1 and %q", o.code, o.stderr, want)
				}
			}
			if strings.Contains(o.stderr, "secret") {
				t.Errorf("the error contains a password: %s", o.stderr)
			}
		})
	}
}

func TestAPortInUseIsReportedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	used := mustListen(t).Addr().String()
	p := newProgram(t).with("STOREROOM_ADDR=" + used)
	for _, command := range []string{"serve", "dev"} {
		o := p.run(t, command)
		if want := "STOREROOM_ADDR: " + used + " is in use by another program"; o.code != 1 ||
			!strings.Contains(o.stderr, want) {
			t.Errorf("%s = %d, %q, want 1 and %q", command, o.code, o.stderr, want)
		}
	}
	if entries, err := os.ReadDir(p.dir); err != nil || len(entries) > 0 {
		t.Errorf("dev created %v, %v, want nothing", entries, err)
	}
}

// get returns the status of a GET request, or 0 without a response.
func get(t *testing.T, url, key string) int { return request(t, "GET", url, key, nil) }

func post(t *testing.T, url, key string, body io.Reader) int {
	return request(t, "POST", url, key, body)
}

var timeoutClient = &http.Client{Timeout: requestTimeout}

func request(t *testing.T, method, url, key string, body io.Reader) int {
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Error(err)
		return 0
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := timeoutClient.Do(r)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // so that the connection can be reused
	return response.StatusCode
}
