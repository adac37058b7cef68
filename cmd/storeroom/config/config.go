// Package config reads the configuration of the program: environment variables, completed by the file .local/env
// that `storeroom dev` writes. Parse reports every problem at once. Settings lists the configuration with its secrets
// hidden.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/storeroom/storeroom/api/pages"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Config is the configuration. The tag hide says which part of a value Settings hides: "all", "password", or
// "passwords" of a list.
type Config struct {
	DatabaseURL      string `env:"DATABASE_URL" hide:"password"`       // connects as the runtime role
	DatabaseAdminURL string `env:"DATABASE_ADMIN_URL" hide:"password"` // connects as the migrator
	// DatabaseDirectURL bypasses a connection pooler, for LISTEN. The default is DatabaseURL.
	DatabaseDirectURL string `env:"DATABASE_DIRECT_URL" hide:"password"`
	// DatabaseReplicaURLs are standbys of DatabaseURL that answer reads, as the same role.
	DatabaseReplicaURLs URLs   `env:"DATABASE_REPLICA_URLS" hide:"passwords"`
	RedisURL            string `env:"REDIS_URL" hide:"password"`
	Addr                string `env:"STOREROOM_ADDR" envDefault:"127.0.0.1:8080"`
	OpsAddr             string `env:"STOREROOM_OPS_ADDR"` // of the operations port; empty: no such port
	// BaseURL is the address that browsers use. See PublicURL for the default.
	BaseURL *url.URL `env:"STOREROOM_BASE_URL" hide:"password"`
	// MediaURL is the storage of pictures. Each tenant may use MediaQuota.
	MediaURL       MediaURL       `env:"STOREROOM_MEDIA_URL" envDefault:"file:///var/lib/storeroom/media" hide:"password"`
	MediaQuota     Bytes          `env:"STOREROOM_MEDIA_QUOTA" envDefault:"10GiB"`
	DatabaseLimit  Bytes          `env:"STOREROOM_DATABASE_LIMIT"` // 0: none. See db.DB.CheckDiskReserve
	KeyPeppers     keys.Peppers   `env:"STOREROOM_KEY_PEPPERS" hide:"all"`
	TrustedProxies []netip.Prefix `env:"STOREROOM_TRUSTED_PROXIES"`
	LogFormat      LogFormat      `env:"STOREROOM_LOG_FORMAT"` // the default is json for serve and text for dev
	LogLevel       slog.Level     `env:"STOREROOM_LOG_LEVEL" envDefault:"info"`
	Drain          Drain          `env:"STOREROOM_DRAIN" envDefault:"5s"`
	Grace          Grace          `env:"STOREROOM_GRACE" envDefault:"25s"`
	FeedRetention  FeedRetention  `env:"STOREROOM_FEED_RETENTION" envDefault:"720h"` // of changes
	DemoKey        string         `env:"STOREROOM_DEMO_KEY" hide:"all"`              // read and written by dev only
	DemoPassword   string         `env:"STOREROOM_DEMO_PASSWORD" hide:"all"`         // read and written by dev only

	LocalWebhooks bool `env:"-"` // set by dev only: webhooks may have http URLs and receivers on this machine
}

type (
	// LogFormat is json or text.
	LogFormat string
	// Drain is the time between reporting "not ready" and refusing connections.
	Drain time.Duration
	// URLs are separated by spaces, because a URL of several hosts contains commas.
	URLs []string
	// MediaURL is the URL of a folder or a bucket.
	MediaURL string
	// Bytes is a size.
	Bytes int64
	// FeedRetention is how long changes are kept.
	FeedRetention time.Duration
	// Grace is the time after Drain in which running requests may finish.
	Grace time.Duration
)

// parsers read the values that the library cannot read. Their errors must not quote a secret.
var parsers = map[reflect.Type]env.ParserFunc{
	reflect.TypeFor[url.URL]():        func(s string) (any, error) { return parseBaseURL(s) },
	reflect.TypeFor[keys.Peppers]():   func(s string) (any, error) { return keys.ParsePeppers(s) },
	reflect.TypeFor[[]netip.Prefix](): func(s string) (any, error) { return parsePrefixes(s) },
	reflect.TypeFor[URLs]():           func(s string) (any, error) { return parseURLs(s) },
	reflect.TypeFor[LogFormat]():      func(s string) (any, error) { return parseLogFormat(s) },
	reflect.TypeFor[MediaURL]():       func(s string) (any, error) { return MediaURL(s), media.CheckURL(s) },
	reflect.TypeFor[Bytes]():          func(s string) (any, error) { return ParseBytes(s) },
	reflect.TypeFor[Drain]():          func(s string) (any, error) { return parseDuration[Drain](s, "0s", "1m") },
	reflect.TypeFor[FeedRetention](): func(s string) (any, error) {
		return parseDuration[FeedRetention](s, "720h", "2160h")
	},
	reflect.TypeFor[Grace](): func(s string) (any, error) { return parseDuration[Grace](s, "1s", "5m") },
}

func parseBaseURL(s string) (url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		u = &url.URL{} // CheckBaseURL reports it without quoting s
	}
	return url.URL{Scheme: u.Scheme, Host: u.Host}, pages.CheckBaseURL(u)
}

// parseURLs reads URLs of PostgreSQL.
func parseURLs(s string) (URLs, error) {
	all := URLs(strings.Fields(s))
	for i, u := range all {
		err := db.CheckURL(u)
		if err == nil && (!strings.HasPrefix(u, "postgres") || strings.Count(u, "://") != 1) {
			err = errors.New("must be a URL such as postgres://USER:PASSWORD@HOST:5432/DATABASE whose files can be read")
		}
		if err != nil {
			return nil, fmt.Errorf("URL %d: %w; separate URLs with spaces", i+1, err)
		}
	}
	return all, nil
}

// parsePrefixes reads IP addresses and CIDR blocks, separated by commas.
func parsePrefixes(s string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		prefix, err := netip.ParsePrefix(part)
		if address, addressErr := netip.ParseAddr(part); err != nil && addressErr == nil {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("must be a list of addresses such as 10.0.0.1 or 10.0.0.0/8, not %q", part)
		}
		all = append(all, prefix)
	}
	return all, nil
}

// ParseBytes reads 500MiB or 10GiB.
func ParseBytes(s string) (Bytes, error) {
	number, unit := strings.TrimRight(s, "MGTiB"), strings.TrimLeft(s, "0123456789")
	shift, known := map[string]int{"MiB": 20, "GiB": 30, "TiB": 40}[unit]
	n, err := strconv.ParseInt(number, 10, 20)
	if err != nil || !known || n < 1 {
		return 0, fmt.Errorf("must be a size such as 500MiB, 10GiB or 1TiB, not %q", s)
	}
	return Bytes(n << shift), nil
}

func parseLogFormat(s string) (LogFormat, error) {
	if s != "json" && s != "text" {
		return "", fmt.Errorf("must be json or text, not %q", s)
	}
	return LogFormat(s), nil
}

func parseDuration[T ~int64](s, least, most string) (T, error) {
	d, err := time.ParseDuration(s)
	low, _ := time.ParseDuration(least)
	high, _ := time.ParseDuration(most)
	if err != nil || d < low || d > high {
		return 0, fmt.Errorf("must be a duration from %s to %s, not %q", least, most, s)
	}
	return T(d), nil
}

// problems are the reasons why a configuration is refused.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return fmt.Errorf("configuration: %s", strings.Join(p, "; "))
}

// Parse reads the configuration from variables. Its error names every invalid value, every required variable that is
// missing and every unknown variable that begins with STOREROOM_.
func Parse(variables map[string]string, required ...string) (Config, error) {
	cfg, found := parse(variables, required)
	return cfg, found.err()
}

// ParseServe reads the configuration of `storeroom serve`. It also checks the OTEL_* variables and that the public
// URL is known.
func ParseServe(variables map[string]string) (Config, error) {
	cfg, found := parse(variables, []string{"DATABASE_URL", "REDIS_URL", "STOREROOM_KEY_PEPPERS"})
	reported := func(problem string) bool {
		return strings.HasPrefix(problem, "STOREROOM_BASE_URL:") || strings.HasPrefix(problem, "STOREROOM_ADDR:")
	}
	if _, err := cfg.PublicURL(cfg.Addr); err != nil && !slices.ContainsFunc(found, reported) {
		found.add("%v", err)
	}
	return cfg, append(found, telemetryProblems(variables)...).err()
}

func parse(variables map[string]string, required []string) (Config, problems) {
	var cfg Config
	var found problems
	for _, name := range required {
		if variables[name] == "" {
			found.add("%s is not set", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if strings.HasPrefix(name, "STOREROOM_") && !strings.HasPrefix(name, "STOREROOM_TEST_") && !IsVariable(name) {
			found.add("%s is not a variable of this program", name)
		}
	}
	err := env.ParseWithOptions(&cfg, env.Options{Environment: variables, FuncMap: parsers})
	if all, ok := errors.AsType[env.AggregateError](err); ok {
		for _, err := range all.Errors {
			found.add("%s", variableProblem(err))
		}
	}
	found = append(found, addressProblems(variables)...)
	if cfg.OpsAddr == cfg.Addr && !strings.HasSuffix(cfg.Addr, ":0") {
		found.add("STOREROOM_OPS_ADDR: must be another address than STOREROOM_ADDR")
	}
	return cfg, found
}

// IsVariable reports whether the program reads a variable of this name.
func IsVariable(name string) bool {
	for field := range reflect.TypeFor[Config]().Fields() {
		if field.Tag.Get("env") == name {
			return true
		}
	}
	return false
}

// variableProblem names the variable; the library names the field.
func variableProblem(err error) string {
	problem, ok := errors.AsType[env.ParseError](err)
	if !ok {
		return err.Error()
	}
	field, _ := reflect.TypeFor[Config]().FieldByName(problem.Name)
	if field.Type == reflect.TypeFor[slog.Level]() { // env calls its UnmarshalText before any parser
		return field.Tag.Get("env") + ": must be debug, info, warn or error"
	}
	return field.Tag.Get("env") + ": " + problem.Err.Error()
}

// addressProblems reports addresses that cannot be parsed. It does not quote URLs, because they may hold a password.
func addressProblems(variables map[string]string) problems {
	var found problems
	for _, name := range []string{"DATABASE_URL", "DATABASE_ADMIN_URL", "DATABASE_DIRECT_URL"} {
		if err := db.CheckURL(variables[name]); err != nil && variables[name] != "" {
			found.add("%s: %v", name, err)
		}
	}
	if address := variables["REDIS_URL"]; address != "" {
		if err := ratelimit.CheckURL(address); err != nil {
			found.add("REDIS_URL: %v", err)
		}
	}
	for _, name := range []string{"STOREROOM_ADDR", "STOREROOM_OPS_ADDR"} {
		if address := variables[name]; address != "" && !isHostPort(address) {
			found.add("%s: must be HOST:PORT, not %q", name, address)
		}
	}
	return found
}

func isHostPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = net.LookupPort("tcp", port)
	return err == nil
}

// PublicURL returns the URL that browsers use: BaseURL, or the URL of addr if BaseURL is not set and only this machine
// can connect to addr.
func (c Config) PublicURL(addr string) (*url.URL, error) {
	if c.BaseURL != nil {
		return c.BaseURL, nil
	}
	u := &url.URL{Scheme: "http", Host: addr}
	if pages.CheckBaseURL(u) != nil {
		return nil, fmt.Errorf("STOREROOM_BASE_URL is not set, and other machines can connect to STOREROOM_ADDR %s: "+
			"set STOREROOM_BASE_URL to the address that browsers use, such as https://shop.example.com", c.Addr)
	}
	return u, nil
}
