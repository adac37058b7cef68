package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSettingsShowsValuesAndSources(t *testing.T) {
	t.Parallel()
	file := map[string]string{
		"REDIS_URL": "redis://:horse@cache:6379/1", "STOREROOM_GRACE": "2m", "STOREROOM_DEMO_PASSWORD": "horse",
	}
	environment := map[string]string{
		"DATABASE_URL":                "postgres://runtime:horse@db:5432/shop?sslmode=verify-full&pool_max_conns=20",
		"DATABASE_REPLICA_URLS":       "postgres://ann:horse@a/shop  postgres://ann:horse@b:1,c:2/shop host=d password=horse",
		"STOREROOM_KEY_PEPPERS":       "1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
		"STOREROOM_GRACE":             "1m",
		"STOREROOM_MEDIA_URL":         "s3://ann:horse@bucket?region=eu",
		"OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector:4318",
		"OTEL_EXPORTER_OTLP_HEADERS":  "authorization=horse",
		"OTEL_SERVICE_NAME":           "shop",
		"GOMEMLIMIT":                  "900MiB",
		"PATH":                        "/bin",
	}
	want := []Setting{
		{"DATABASE_URL", "postgres://runtime:hidden@db:5432/shop?pool_max_conns=20&sslmode=verify-full", "environment"},
		{"DATABASE_ADMIN_URL", "", "not set"},
		{"DATABASE_DIRECT_URL", "postgres://runtime:hidden@db:5432/shop?pool_max_conns=20&sslmode=verify-full", "default"},
		{
			"DATABASE_REPLICA_URLS",
			"postgres://ann:hidden@a/shop postgres://ann:hidden@b:1,c:2/shop host=d password=hidden", "environment",
		},
		{"REDIS_URL", "redis://:hidden@cache:6379/1", ".local/env"},
		{"STOREROOM_ADDR", "127.0.0.1:8080", "default"},
		{"STOREROOM_OPS_ADDR", "", "not set"},
		{"STOREROOM_BASE_URL", "http://127.0.0.1:8080", "default"},
		{"STOREROOM_MEDIA_URL", "s3://ann:hidden@bucket?region=eu", "environment"},
		{"STOREROOM_MEDIA_QUOTA", "10GiB", "default"},
		{"STOREROOM_DATABASE_LIMIT", "", "not set"},
		{"STOREROOM_KEY_PEPPERS", "hidden", "environment"},
		{"STOREROOM_TRUSTED_PROXIES", "", "not set"},
		{"STOREROOM_LOG_FORMAT", "json", "default"},
		{"STOREROOM_LOG_LEVEL", "info", "default"},
		{"STOREROOM_DRAIN", "5s", "default"},
		{"STOREROOM_GRACE", "1m", "environment"},
		{"STOREROOM_FEED_RETENTION", "720h", "default"},
		{"STOREROOM_DEMO_KEY", "", "not set"},
		{"STOREROOM_DEMO_PASSWORD", "hidden", ".local/env"},
		{"GOMEMLIMIT", "900MiB", "environment"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318", "environment"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "hidden", "environment"},
		{"OTEL_SERVICE_NAME", "shop", "environment"},
	}
	if diff := cmp.Diff(want, Settings(file, environment)); diff != "" {
		t.Errorf("Settings (-want +got):\n%s", diff)
	}
}

func TestPasswordsInURLsAreHidden(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"PostgreSQL URL", "postgres://ann:horse@db:5432/shop", "postgres://ann:hidden@db:5432/shop"},
		{"no password", "postgresql://ann@db/shop", "postgresql://ann@db/shop"},
		{
			"password in a parameter",
			"postgres://db/shop?user=ann&password=horse&sslpassword=horse&sslmode=require",
			"postgres://db/shop?password=hidden&sslmode=require&sslpassword=hidden&user=ann",
		},
		{"escaped password", "postgres://ann:hor%40se%2F@db/shop", "postgres://ann:hidden@db/shop"},
		{"password with a slash", "postgres://ann:1/horse@db/shop", unparsed},
		{"password with a question mark", "postgres://ann:1?horse@db/shop", unparsed},
		{"password with a hash", "postgres://ann:1#horse@db/shop", unparsed},
		{"password with a percent sign", "postgres://ann:horse%@db/shop", unparsed},
		{"parameter with a semicolon", "postgres://db/shop?a=b;password=horse", unparsed},
		{"PostgreSQL socket", "postgres:///shop?host=/run/postgresql", "postgres:///shop?host=%2Frun%2Fpostgresql"},
		{"Redis URL", "rediss://ann:horse@cache:6380/1?db=2", "rediss://ann:hidden@cache:6380/1?db=2"},
		{"password in place of the user name", "redis://horse@cache:6379", "redis://hidden@cache:6379"},
		{"keywords", "host=db  port = 5432 user=ann password=horse", "host=db port=5432 user=ann password=hidden"},
		{"quoted keywords", `host='d b' password='hor\'se x' dbname=shop`, `host='d b' password=hidden dbname=shop`},
		{"keyword with an escape", `password=hor\ se host=db`, "password=hidden host=db"},
		{"keyword with an open quote", "host=db password='horse", unparsed},
		{"words", "horse horse", unparsed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := withoutPassword(test.text); got != test.want {
				t.Errorf("withoutPassword(%q) = %q, want %q", test.text, got, test.want)
			}
		})
	}
}

// A new variable that may hold a secret needs the tag hide.
func TestEveryVariableThatMayHoldASecretIsHidden(t *testing.T) {
	t.Parallel()
	for field := range reflect.TypeFor[Config]().Fields() {
		name := field.Tag.Get("env")
		secret := holdsSecret(name) || strings.HasSuffix(name, "URL") || strings.Contains(name, "PEPPER")
		if secret && field.Tag.Get("hide") == "" {
			t.Errorf("%s has no tag hide", name)
		}
	}
}
