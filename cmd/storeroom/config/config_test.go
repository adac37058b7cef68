package config

import (
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wantProblems fails unless err contains each of the parts and none of the secrets.
func wantProblems(t *testing.T, err error, parts []string, secrets ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("err = nil, want problems")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("err = %v, want also %q", err, part)
		}
	}
	for _, secret := range secrets {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("err = %v, want nothing of %s", err, secret)
		}
	}
}

func TestParseNamesEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := Parse(map[string]string{
		"STOREROOM_KEY_PEPPERS":       "1:short",
		"STOREROOM_TRUSTED_PROXIES":   "10.0.0.0/8,nonsense",
		"STOREROOM_LOG_FORMAT":        "xml",
		"STOREROOM_LOG_LEVEL":         "loud",
		"STOREROOM_DRAIN":             "1h",
		"STOREROOM_GRACE":             "0s",
		"STOREROOM_FEED_RETENTION":    "24h",
		"STOREROOM_ADRR":              ":1",
		"STOREROOM_BASE_URL":          "http://ann:horse@shop.example.com",
		"STOREROOM_TEST_DATABASE_URL": "x",
		"STOREROOM_OPS_ADDR":          "127.0.0.1:70000",
		"DATABASE_DIRECT_URL":         "postgres://runtime:horse@db:port/shop",
		"DATABASE_ADMIN_URL":          "host=db password='horse",
		"DATABASE_REPLICA_URLS":       "postgres://ann:horse@a/shop,postgres://ann:horse@b/shop",
		"REDIS_URL":                   "",
		"OTHER":                       "1",
	}, "DATABASE_URL", "REDIS_URL")
	wantProblems(t, err, []string{
		"DATABASE_URL is not set",
		"REDIS_URL is not set",
		"STOREROOM_ADRR is not a variable of this program",
		"STOREROOM_KEY_PEPPERS: read the peppers: version 1",
		`STOREROOM_TRUSTED_PROXIES: must be a list of addresses such as 10.0.0.1 or 10.0.0.0/8, not "nonsense"`,
		`STOREROOM_LOG_FORMAT: must be json or text, not "xml"`,
		"STOREROOM_LOG_LEVEL: must be debug, info, warn or error",
		"STOREROOM_BASE_URL: must be a URL without a path",
		`STOREROOM_DRAIN: must be a duration from 0s to 1m, not "1h"`,
		`STOREROOM_GRACE: must be a duration from 1s to 5m, not "0s"`,
		`STOREROOM_FEED_RETENTION: must be a duration from 720h to 2160h, not "24h"`,
		`STOREROOM_OPS_ADDR: must be HOST:PORT, not "127.0.0.1:70000"`,
		"DATABASE_DIRECT_URL: must be a URL such as postgres://USER:PASSWORD@HOST:5432/DATABASE",
		"DATABASE_ADMIN_URL: must be a URL",
		"DATABASE_REPLICA_URLS: URL 1: must be a URL such as postgres://USER",
	}, "short", "horse", "TEST_DATABASE", "OTHER")
}

func TestReplicaURLsAreSeparatedBySpaces(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]URLs{
		"":                                   nil,
		" postgres://a/shop\n postgres://b ": {"postgres://a/shop", "postgres://b"},
		"postgresql://a:1,b:2/shop?target_session_attrs=prefer-standby": {
			"postgresql://a:1,b:2/shop?target_session_attrs=prefer-standby",
		},
	} {
		got, err := Parse(map[string]string{"DATABASE_REPLICA_URLS": value})
		if err != nil || !slices.Equal(got.DatabaseReplicaURLs, want) {
			t.Errorf("%q = %q, %v, want %q", value, got.DatabaseReplicaURLs, err, want)
		}
	}
	for _, value := range []string{"host=a password=horse", "postgres://a:horse@a:port/shop", "postgres://a redis://horse@b"} {
		_, err := Parse(map[string]string{"DATABASE_REPLICA_URLS": value})
		wantProblems(t, err, []string{"DATABASE_REPLICA_URLS: URL "}, "horse")
	}
}

func TestParseServeNamesEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := ParseServe(map[string]string{
		"DATABASE_URL":                "postgres://runtime@db/shop",
		"REDIS_URL":                   "http://ann:horse@cache",
		"STOREROOM_ADDR":              ":8080",
		"STOREROOM_OPS_ADDR":          ":8080",
		"OTEL_EXPORTER_OTLP_ENDPOINT": "horse:4318",
	})
	wantProblems(t, err, []string{
		"STOREROOM_KEY_PEPPERS is not set",
		"REDIS_URL: parse the Redis URL: invalid URL scheme",
		"STOREROOM_OPS_ADDR: must be another address than STOREROOM_ADDR",
		"STOREROOM_BASE_URL is not set",
		"OTEL_EXPORTER_OTLP_ENDPOINT must be an address",
	}, "horse")
}

// An invalid STOREROOM_ADDR or STOREROOM_BASE_URL is one problem, not two.
func TestParseServeReportsAnAddressOnce(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"STOREROOM_ADDR": "9090", "STOREROOM_BASE_URL": "http://%zz"} {
		_, err := ParseServe(map[string]string{name: value})
		wantProblems(t, err, []string{name + ": must be"}, "STOREROOM_BASE_URL is not set")
	}
}

func TestCheckTelemetryNamesEveryProblem(t *testing.T) {
	t.Parallel()
	err := CheckTelemetry(map[string]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL":         "pigeon",
		"OTEL_EXPORTER_OTLP_LOGS_PROTOCOL":    "http/json",
		"OTEL_EXPORTER_OTLP_ENDPOINT":         "collector:4318",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT":  "/v1",
		"OTEL_EXPORTER_OTLP_HEADERS":          "Bearer horse",
		"OTEL_METRICS_EXPORTER":               "prometheus",
		"OTEL_TRACES_SAMPLER":                 "sometimes",
		"OTEL_TRACES_SAMPLER_ARG":             "1.5",
		"OTEL_EXPORTER_OTLP_TIMEOUT":          "abc",
		"OTEL_EXPORTER_OTLP_LOGS_COMPRESSION": "zip",
		"OTEL_EXPORTER_OTLP_CERTIFICATE":      "/nowhere",
		"OTEL_RESOURCE_ATTRIBUTES":            "horse,foo",
		"OTEL_METRIC_EXPORT_INTERVAL":         "y",
		"OTEL_BSP_MAX_QUEUE_SIZE":             "0",
	})
	wantProblems(t, err, []string{
		"OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or grpc",
		"OTEL_EXPORTER_OTLP_LOGS_PROTOCOL must be",
		"OTEL_EXPORTER_OTLP_ENDPOINT must be an address such as http://collector:4318",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be",
		"OTEL_EXPORTER_OTLP_HEADERS must be pairs such as name=value",
		"OTEL_METRICS_EXPORTER must be otlp or none",
		"OTEL_TRACES_SAMPLER must be one of always_on,",
		"OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1",
		"OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds",
		"OTEL_EXPORTER_OTLP_LOGS_COMPRESSION must be gzip or none",
		"OTEL_EXPORTER_OTLP_CERTIFICATE must be a file",
		"OTEL_RESOURCE_ATTRIBUTES must be pairs",
		"OTEL_METRIC_EXPORT_INTERVAL must be",
		"OTEL_BSP_MAX_QUEUE_SIZE must be a number from 1",
	}, "horse")
}

func TestTheEnvironmentOverridesTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := WriteFile(dir, map[string]string{"REDIS_URL": "redis://saved", "DATABASE_URL": "postgres://saved?a=b"})
	if err != nil {
		t.Fatal(err)
	}
	file, err := ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	environment := Environment([]string{
		"REDIS_URL=redis://here", "STOREROOM_TRUSTED_PROXIES=10.0.0.1, fd00::/8", "DATABASE_URL=",
	})
	cfg, err := Parse(Merge(file, environment), "REDIS_URL", "DATABASE_URL")
	if err != nil {
		t.Fatal(err)
	}
	got := []any{cfg.RedisURL, cfg.DatabaseURL, cfg.Addr, cfg.TrustedProxies}
	want := []any{
		"redis://here", "postgres://saved?a=b", "127.0.0.1:8080",
		[]netip.Prefix{netip.MustParsePrefix("10.0.0.1/32"), netip.MustParsePrefix("fd00::/8")},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(FilePath(dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v, want 0600", info.Mode(), err)
	}
}

func TestReadFileReturnsTheVariables(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for _, test := range []struct {
		name, content string
		want          map[string]string
		err           string
	}{
		{"empty values and comments are skipped", "# comment\n\nA=1\nB=\n", map[string]string{"A": "1"}, ""},
		{"a value may contain =", " A = b=c \n", map[string]string{"A ": " b=c"}, ""},
		{"a long line is read whole", "A=" + long + "\nB=2\n", map[string]string{"A": long, "B": "2"}, ""},
		{"the last line needs no newline", "A=1", map[string]string{"A": "1"}, ""},
		{"a line without = is an error", "# comment\n\nREDIS_URL\n", nil, "line 3: expected NAME=value"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := WriteFile(dir, nil); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(FilePath(dir), []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := ReadFile(dir)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("ReadFile: %v, want %q", err, test.err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("ReadFile returned %d variables, want %d", len(got), len(test.want))
			}
		})
	}
}

func TestPublicURLIsKnownOnlyForLocalAddresses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, baseURL, addr, want, err string }{
		{"base URL", "https://shop.example.com", "127.0.0.1:8080", "https://shop.example.com", ""},
		{"base URL, all interfaces", "https://shop.example.com/", "0.0.0.0:8080", "https://shop.example.com", ""},
		{"http on this machine", "http://localhost:9000", "0.0.0.0:8080", "http://localhost:9000", ""},
		{"loopback address", "", "127.0.0.1:8080", "http://127.0.0.1:8080", ""},
		{"IPv6 loopback address", "", "[::1]:8080", "http://[::1]:8080", ""},
		{"localhost", "", "localhost:8080", "http://localhost:8080", ""},
		{
			"all interfaces", "", "0.0.0.0:8080", "",
			"STOREROOM_BASE_URL is not set, and other machines can connect to STOREROOM_ADDR 0.0.0.0:8080: " +
				"set STOREROOM_BASE_URL",
		},
		{"port only", "", ":8080", "", "STOREROOM_BASE_URL is not set"},
		{"network address", "", "192.0.2.1:8080", "", "STOREROOM_BASE_URL is not set"},
		{
			"http on a network", "http://shop.example.com", "127.0.0.1:8080", "",
			"STOREROOM_BASE_URL: must begin with https://",
		},
		{"not a URL", "http://%zz", "127.0.0.1:8080", "", "STOREROOM_BASE_URL: must be a URL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			variables := Environment([]string{"STOREROOM_BASE_URL=" + test.baseURL, "STOREROOM_ADDR=" + test.addr})
			cfg, err := Parse(variables)
			got := ""
			if err == nil {
				u, publicErr := cfg.PublicURL(cfg.Addr)
				if err = publicErr; err == nil {
					got = u.String()
				}
			}
			if test.err != "" {
				wantProblems(t, err, []string{test.err})
			} else if err != nil || got != test.want {
				t.Errorf("PublicURL = %v, %v, want %s", got, err, test.want)
			}
		})
	}
}
