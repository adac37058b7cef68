package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/api/settings"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/ratelimit"
)

// connectWithin bounds how long a command waits for PostgreSQL to let it in.
const connectWithin = 15 * time.Second

// config is everything that can be set, by variables of the environment alone. hide
// says what of a value nobody is shown: all of it, or the password in it.
type config struct {
	DatabaseURL       string       `env:"DATABASE_URL" hide:"password"`        // of the runtime role
	DatabaseAdminURL  string       `env:"DATABASE_ADMIN_URL" hide:"password"`  // of the migrator
	DatabaseDirectURL string       `env:"DATABASE_DIRECT_URL" hide:"password"` // past a pooler, for LISTEN; DATABASE_URL if empty
	RedisURL          string       `env:"REDIS_URL" hide:"password"`
	Addr              string       `env:"STOREROOM_ADDR" envDefault:"127.0.0.1:8080"`
	OpsAddr           string       `env:"STOREROOM_OPS_ADDR"`                 // of the operations port, which must not be public; none if empty
	BaseURL           *url.URL     `env:"STOREROOM_BASE_URL" hide:"password"` // where browsers find the service; Addr if empty and of this machine alone
	KeyPeppers        keys.Peppers `env:"STOREROOM_KEY_PEPPERS" hide:"all"`
	TrustedProxies    prefixes     `env:"STOREROOM_TRUSTED_PROXIES"`
	LogFormat         logFormat    `env:"STOREROOM_LOG_FORMAT"` // json for serve and text for dev if empty
	LogLevel          slog.Level   `env:"STOREROOM_LOG_LEVEL" envDefault:"info"`
	Drain             drain        `env:"STOREROOM_DRAIN" envDefault:"5s"`    // from not ready to refusing connections
	Grace             grace        `env:"STOREROOM_GRACE" envDefault:"25s"`   // for requests in flight after that
	DemoKey           string       `env:"STOREROOM_DEMO_KEY" hide:"all"`      // written by dev, used by nobody else
	DemoPassword      string       `env:"STOREROOM_DEMO_PASSWORD" hide:"all"` // likewise
}

type (
	prefixes  []netip.Prefix
	logFormat string
	drain     time.Duration
	grace     time.Duration
)

// parsers read the values that are not plain text. Their errors name no value that
// is a secret.
var parsers = map[reflect.Type]env.ParserFunc{
	reflect.TypeFor[url.URL]():      func(s string) (any, error) { return parseBaseURL(s) },
	reflect.TypeFor[keys.Peppers](): func(s string) (any, error) { return keys.ParsePeppers(s) },
	reflect.TypeFor[prefixes]():     func(s string) (any, error) { return parsePrefixes(s) },
	reflect.TypeFor[logFormat]():    func(s string) (any, error) { return parseLogFormat(s) },
	reflect.TypeFor[drain]():        func(s string) (any, error) { return parseTime[drain](s, 0, time.Minute) },
	reflect.TypeFor[grace]():        func(s string) (any, error) { return parseTime[grace](s, time.Second, 5*time.Minute) },
}

// parsePrefixes reads addresses and CIDR blocks, separated by commas.
func parsePrefixes(s string) (prefixes, error) {
	var all prefixes
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		prefix, err := netip.ParsePrefix(part)
		if address, addressErr := netip.ParseAddr(part); err != nil && addressErr == nil {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("must hold addresses such as 10.0.0.1 or 10.0.0.0/8, not %q", part)
		}
		all = append(all, prefix)
	}
	return all, nil
}

// parseBaseURL reads an address that cookies may travel to.
func parseBaseURL(s string) (url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		u = &url.URL{} // what is wrong with it is told in the same words
	}
	return url.URL{Scheme: u.Scheme, Host: u.Host}, settings.CheckBaseURL(u)
}

// baseURLOr is the base URL that was set, or else that of addr, where nobody but this
// machine can reach it.
func (c config) baseURLOr(addr string) (*url.URL, error) {
	if c.BaseURL != nil {
		return c.BaseURL, nil
	}
	u := &url.URL{Scheme: "http", Host: addr}
	if settings.CheckBaseURL(u) != nil {
		return nil, fmt.Errorf("configuration: STOREROOM_BASE_URL is not set, and STOREROOM_ADDR %s is not of this machine alone: "+
			"set STOREROOM_BASE_URL to where browsers find the service, such as https://shop.example.com", c.Addr)
	}
	return u, nil
}

func parseLogFormat(s string) (logFormat, error) {
	if s != "json" && s != "text" {
		return "", fmt.Errorf("must be json or text, not %q", s)
	}
	return logFormat(s), nil
}

func parseTime[T ~int64](s string, least, most time.Duration) (T, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < least || d > most {
		return 0, fmt.Errorf("must be a time from %s to %s, not %q", short(least), short(most), s)
	}
	return T(d), nil
}

// short writes whole minutes as people do: 1m, not 1m0s.
func short(d time.Duration) string {
	if d >= time.Minute {
		return strings.TrimSuffix(d.String(), "0s")
	}
	return d.String()
}

// config reads the variables and names every fault at once: those in needs that
// are missing, values that cannot be read, names that mean nothing here.
func (c console) config(needs ...string) (config, error) {
	saved, err := c.saved()
	if err != nil {
		return config{}, err
	}
	return parseConfig(merged(saved, c.environment()), needs...)
}

// serveConfig is what serve runs with; it names every fault that serve would stumble
// over before it asks anybody, those of the OTEL_* variables too.
func (c console) serveConfig() (config, error) {
	saved, err := c.saved()
	if err != nil {
		return config{}, err
	}
	cfg, err := parseConfig(merged(saved, c.environment()), serveNeeds...)
	all := []error{err}
	if cfg.BaseURL == nil && (err == nil || !strings.Contains(err.Error(), "STOREROOM_BASE_URL") && !strings.Contains(err.Error(), "STOREROOM_ADDR:")) {
		_, missing := cfg.baseURLOr(cfg.Addr)
		all = append(all, missing)
	}
	var faults []string
	for _, err := range append(all, exportFaults()) {
		if err != nil {
			faults = append(faults, strings.TrimPrefix(err.Error(), "configuration: "))
		}
	}
	if len(faults) > 0 {
		return cfg, fmt.Errorf("configuration: %s", strings.Join(faults, "; "))
	}
	return cfg, nil
}

// merged is what was saved where the environment does not say otherwise.
func merged(saved, environment map[string]string) map[string]string {
	all := maps.Clone(saved)
	maps.Copy(all, environment)
	return all
}

func parseConfig(variables map[string]string, needs ...string) (config, error) {
	var cfg config
	var faults []string
	for _, name := range needs {
		if variables[name] == "" {
			faults = append(faults, name+" is not set")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if strings.HasPrefix(name, "STOREROOM_") && !strings.HasPrefix(name, "STOREROOM_TEST_") && !known(name) {
			faults = append(faults, name+" is not a variable of this program")
		}
	}
	err := env.ParseWithOptions(&cfg, env.Options{Environment: variables, FuncMap: parsers})
	if all, ok := errors.AsType[env.AggregateError](err); ok {
		for _, err := range all.Errors {
			faults = append(faults, variableFault(err))
		}
	}
	faults = append(faults, addressFaults(variables)...)
	if cfg.OpsAddr == cfg.Addr && !strings.HasSuffix(cfg.Addr, ":0") {
		faults = append(faults, "STOREROOM_OPS_ADDR: must be another address than STOREROOM_ADDR")
	}
	if len(faults) > 0 {
		return cfg, fmt.Errorf("configuration: %s", strings.Join(faults, "; "))
	}
	return cfg, nil
}

// addressFaults tells of addresses that cannot be read. It never quotes one of a
// server: it may hold a password.
func addressFaults(variables map[string]string) []string {
	var faults []string
	check := func(name, want string, err error) {
		if err != nil && variables[name] != "" {
			faults = append(faults, name+": must be "+want)
		}
	}
	for _, name := range []string{"DATABASE_URL", "DATABASE_ADMIN_URL", "DATABASE_DIRECT_URL"} {
		_, err := pgx.ParseConfig(variables[name])
		check(name, "an address such as postgres://USER:PASSWORD@HOST:5432/DATABASE, with files that can be read", err)
	}
	if address := variables["REDIS_URL"]; address != "" {
		if err := ratelimit.CheckURL(address); err != nil {
			faults = append(faults, "REDIS_URL: "+err.Error())
		}
	}
	for _, name := range []string{"STOREROOM_ADDR", "STOREROOM_OPS_ADDR"} {
		_, port, err := net.SplitHostPort(variables[name])
		if err == nil {
			_, err = net.LookupPort("tcp", port)
		}
		check(name, fmt.Sprintf("HOST:PORT, not %q", variables[name]), err)
	}
	return faults
}

// known says whether a variable is one of config's.
func known(name string) bool {
	for field := range reflect.TypeFor[config]().Fields() {
		if field.Tag.Get("env") == name {
			return true
		}
	}
	return false
}

// variableFault names the variable where the library names the field.
func variableFault(err error) string {
	fault, ok := errors.AsType[env.ParseError](err)
	if !ok {
		return err.Error()
	}
	field, _ := reflect.TypeFor[config]().FieldByName(fault.Name)
	return field.Tag.Get("env") + ": " + fault.Err.Error()
}

// environment is the variables of the process; an empty one counts as not set.
func (c console) environment() map[string]string {
	variables := env.ToMap(c.environ)
	maps.DeleteFunc(variables, func(_, value string) bool { return value == "" })
	return variables
}

func (c console) savedPath() string { return filepath.Join(c.dir, ".local", "env") }

// saved reads what dev has left in .local/env, if anything: one NAME=value a line.
func (c console) saved() (map[string]string, error) {
	variables := map[string]string{}
	file, err := os.Open(c.savedPath())
	if errors.Is(err, fs.ErrNotExist) {
		return variables, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the saved variables: %w", err)
	}
	defer file.Close()
	for lines, n := bufio.NewScanner(file), 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		name, value, found := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case !found:
			return nil, fmt.Errorf("%s line %d: want NAME=value", c.savedPath(), n)
		case value != "":
			variables[name] = value
		}
	}
	return variables, nil
}

// save writes .local/env, whole or not at all, readable by its owner alone.
func (c console) save(variables map[string]string) error {
	var content strings.Builder
	content.WriteString("# Written by `storeroom dev`; read by every other command here.\n")
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		fmt.Fprintf(&content, "%s=%s\n", name, variables[name])
	}
	path := c.savedPath()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", []byte(content.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// lines writes to stderr: text for people, JSON for machines.
func (c console) lines(cfg config, usual logFormat) slog.Handler {
	options := &slog.HandlerOptions{Level: cfg.LogLevel}
	if cmp.Or(cfg.LogFormat, usual) == "json" {
		return slog.NewJSONHandler(c.stderr, options)
	}
	return slog.NewTextHandler(c.stderr, options)
}
