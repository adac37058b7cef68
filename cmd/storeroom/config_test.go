package main

import (
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConfigNamesEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	c := console{dir: t.TempDir(), environ: []string{
		"STOREROOM_KEY_PEPPERS=1:short", "STOREROOM_TRUSTED_PROXIES=10.0.0.0/8,nonsense", "STOREROOM_LOG_FORMAT=xml",
		"STOREROOM_LOG_LEVEL=loud", "STOREROOM_DRAIN=1h", "STOREROOM_ADRR=:1", "STOREROOM_BASE_URL=http://ann:horse@shop.example.com", "STOREROOM_TEST_DATABASE_URL=x", "REDIS_URL=", "OTHER=1",
		"STOREROOM_OPS_ADDR=127.0.0.1:70000",
	}}
	_, err := c.config("DATABASE_URL", "REDIS_URL")
	if err == nil {
		t.Fatal("config = nil, want faults")
	}
	for _, want := range []string{
		"DATABASE_URL is not set", "REDIS_URL is not set", "STOREROOM_ADRR is not a variable of this program",
		"STOREROOM_KEY_PEPPERS: read the peppers: version 1", `STOREROOM_TRUSTED_PROXIES: must hold addresses such as 10.0.0.1 or 10.0.0.0/8, not "nonsense"`,
		`STOREROOM_LOG_FORMAT: must be json or text, not "xml"`, "STOREROOM_LOG_LEVEL: ", "STOREROOM_BASE_URL: must be an address without path", `STOREROOM_DRAIN: must be a time from 0s to 1m, not "1h"`,
		`STOREROOM_OPS_ADDR: must be HOST:PORT, not "127.0.0.1:70000"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("config = %v, want also %q", err, want)
		}
	}
	for _, unwanted := range []string{"short", "horse", "TEST_DATABASE", "OTHER"} {
		if strings.Contains(err.Error(), unwanted) {
			t.Errorf("config = %v, want nothing of %s", err, unwanted)
		}
	}
}

func TestTheEnvironmentWinsOverWhatIsSaved(t *testing.T) {
	t.Parallel()
	c := console{dir: t.TempDir(), environ: []string{"REDIS_URL=redis://here", "STOREROOM_TRUSTED_PROXIES=10.0.0.1, fd00::/8", "DATABASE_URL="}}
	if err := c.save(map[string]string{"REDIS_URL": "redis://saved", "DATABASE_URL": "postgres://saved?a=b"}); err != nil {
		t.Fatal(err)
	}
	cfg, err := c.config("REDIS_URL", "DATABASE_URL")
	if err != nil {
		t.Fatal(err)
	}
	got := []any{cfg.RedisURL, cfg.DatabaseURL, cfg.Addr, []netip.Prefix(cfg.TrustedProxies)}
	want := []any{"redis://here", "postgres://saved?a=b", "127.0.0.1:8080", []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32"), netip.MustParsePrefix("fd00::/8")}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(c.savedPath()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the saved variables have mode %v, %v, want 0600", info.Mode(), err)
	}
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, set, addr, want, fault string }{
		{"that was set wins", "https://shop.example.com", "127.0.0.1:8080", "https://shop.example.com", ""},
		{"that was set serves every address", "https://shop.example.com/", "0.0.0.0:8080", "https://shop.example.com", ""},
		{"on this machine may be plain", "http://localhost:9000", "0.0.0.0:8080", "http://localhost:9000", ""},
		{"is the address of this machine", "", "127.0.0.1:8080", "http://127.0.0.1:8080", ""},
		{"is the address of this machine in IPv6", "", "[::1]:8080", "http://[::1]:8080", ""},
		{"is that of a name of this machine", "", "localhost:8080", "http://localhost:8080", ""},
		{"cannot be every address", "", "0.0.0.0:8080", "", "STOREROOM_BASE_URL is not set, and STOREROOM_ADDR 0.0.0.0:8080 is not of this machine alone: set STOREROOM_BASE_URL"},
		{"cannot be a port alone", "", ":8080", "", "STOREROOM_BASE_URL is not set"},
		{"cannot be an address of the network", "", "192.0.2.1:8080", "", "STOREROOM_BASE_URL is not set"},
		{"that was set must be safe", "http://shop.example.com", "127.0.0.1:8080", "", "STOREROOM_BASE_URL: must begin with https://"},
		{"that was set must be one", "http://%zz", "127.0.0.1:8080", "", "STOREROOM_BASE_URL: must be an address"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := console{dir: t.TempDir(), environ: []string{"STOREROOM_BASE_URL=" + test.set, "STOREROOM_ADDR=" + test.addr}}
			cfg, err := c.config()
			var got *url.URL
			if err == nil {
				got, err = cfg.baseURLOr(cfg.Addr)
			}
			switch {
			case test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)):
				t.Errorf("base URL = %v, %v, want %q", got, err, test.fault)
			case test.fault == "" && (err != nil || got.String() != test.want):
				t.Errorf("base URL = %v, %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestABrokenSavedFileIsNamed(t *testing.T) {
	t.Parallel()
	c := console{dir: t.TempDir()}
	if err := c.save(nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.savedPath(), []byte("# fine\n\nREDIS_URL\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.config(); err == nil || !strings.Contains(err.Error(), "line 3: want NAME=value") {
		t.Errorf("config = %v, want line 3 named", err)
	}
}
