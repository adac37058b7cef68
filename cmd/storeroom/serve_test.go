package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

func TestServeRefusesWhatIsNotSafe(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		variables func(program) string
		break_    string
		want      []string
	}{
		{"a superuser", func(p program) string { return "DATABASE_URL=" + p.SuperURL }, "", []string{"DATABASE_URL names a role that may not serve", "is a superuser"}},
		{"the migrator", func(p program) string { return "DATABASE_URL=" + p.AdminURL }, "", []string{"storeroom_migrator: is a member of storeroom_owner"}},
		{"an older schema", nil, `delete from schema_migrations where version = (select max(version) from schema_migrations)`, []string{"run `storeroom migrate`"}},
		{"no schema at all", nil, `drop function schema_version`, []string{"did `storeroom migrate` run?"}},
		{"open tables", nil, `drop policy tenant on products; alter table stock no force row level security`, []string{"the schema does not keep tenants apart", "products: ", "stock: "}},
		{"a bad Redis URL", func(program) string { return "REDIS_URL=nonsense" }, "", []string{"REDIS_URL"}},
		{"a database that is not there", func(program) string { return "DATABASE_URL=postgres://x:secret@127.0.0.1:1/x" }, "", []string{"DATABASE_URL: "}},
		{"every address without a base URL", func(program) string { return "STOREROOM_ADDR=0.0.0.0:0" }, "", []string{"STOREROOM_BASE_URL is not set", "such as https://shop.example.com"}},
		{"missing variables", func(program) string { return "REDIS_URL=" }, "", []string{"REDIS_URL is not set"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			if test.break_ != "" {
				if _, err := p.MustSuper(t).Exec(t.Context(), test.break_); err != nil {
					t.Fatal(err)
				}
			}
			if test.variables != nil {
				p = p.with(test.variables(p))
			}
			o := p.run(t, "serve")
			for _, want := range test.want {
				if o.code != 1 || !strings.Contains(o.stderr, want) {
					t.Errorf("serve = %d, %q, want 1 and %q", o.code, o.stderr, want)
				}
			}
			if strings.Contains(o.stderr, "secret") {
				t.Errorf("serve shows a password: %s", o.stderr)
			}
		})
	}
}

func TestAPortInUseIsNamedBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	taken := mustListen(t).Addr().String()
	p := newProgram(t).with("STOREROOM_ADDR=" + taken)
	for _, command := range []string{"serve", "dev"} {
		o := p.run(t, command)
		if want := "STOREROOM_ADDR: " + taken + " is in use by another program"; o.code != 1 || !strings.Contains(o.stderr, want) {
			t.Errorf("%s = %d, %q, want 1 and %q", command, o.code, o.stderr, want)
		}
	}
	if entries, err := os.ReadDir(p.dir); err != nil || len(entries) > 0 {
		t.Errorf("dev left %v, %v", entries, err)
	}
}

// A signal first takes the instance out of the balancer's list; requests that are
// under way, and those that still come meanwhile, are answered.
func TestServeEndsInGoodOrder(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("REDIS_URL="+privateRedis(t), "STOREROOM_DRAIN=1s")
	key := p.mustKey(t, "acme", "1000")
	server := start(t, p.dir, p.environ, "serve")
	base := server.address(t)
	body, send := io.Pipe()
	answered := make(chan int, 1)
	go func() { answered <- post(t, base+"/api/products", key.Key, body) }()
	if _, err := send.Write([]byte(`{"sku": "A", `)); err != nil {
		t.Fatal(err)
	}
	if status := get(t, base+"/readyz", ""); status != 200 {
		t.Errorf("/readyz = %d, want 200", status)
	}
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for range poll(t, 900*time.Millisecond) {
		if get(t, base+"/readyz", "") == 503 {
			break
		}
	}
	if status := get(t, base+"/api/me", key.Key); status != 200 {
		t.Errorf("a request while draining = %d, want 200", status)
	}
	if _, err := send.Write([]byte(`"name": "Axe", "price": 1}`)); err != nil {
		t.Fatal(err)
	}
	send.Close()
	if status := <-answered; status != 201 {
		t.Errorf("the request under way = %d, want 201", status)
	}
	server.mustExit(t)
	var all []keyJSON
	if p.mustRun(t, &all, "key", "list", "--tenant", "acme"); all[0].LastUsedAt == nil {
		t.Error("the key's last use was lost at the end")
	}
}

// get returns the status of a request; 0 if there was no answer.
func get(t *testing.T, url, key string) int { return request(t, "GET", url, key, nil) }

func post(t *testing.T, url, key string, body io.Reader) int {
	return request(t, "POST", url, key, body)
}

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
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // to use the connection again
	return response.StatusCode
}
