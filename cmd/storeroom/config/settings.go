package config

import (
	"cmp"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Setting is a variable with its secrets hidden.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // environment, .local/env, cgroup, default or not set
}

// Settings returns the fields of Config in their order, then GOMEMLIMIT and the OTEL_* variables that are set. The Go
// runtime and OpenTelemetry read the environment only, not the file.
func Settings(file, environment map[string]string) []Setting {
	cfg, _ := parse(Merge(file, environment), nil)
	defaults := map[string]string{"DATABASE_DIRECT_URL": cfg.DatabaseURL, "STOREROOM_LOG_FORMAT": "json"}
	if public, err := cfg.PublicURL(cfg.Addr); err == nil {
		defaults["STOREROOM_BASE_URL"] = public.String()
	}
	var all []Setting
	for field := range reflect.TypeFor[Config]().Fields() {
		name := field.Tag.Get("env")
		if name == "-" {
			continue // the program sets it
		}
		s := Setting{Name: name, Value: cmp.Or(field.Tag.Get("envDefault"), defaults[name]), Source: "default"}
		if value, set := file[name]; set {
			s.Value, s.Source = value, ".local/env"
		}
		if value, set := environment[name]; set {
			s.Value, s.Source = value, "environment"
		}
		switch hide := field.Tag.Get("hide"); {
		case s.Value == "":
			s.Source = "not set"
		case hide == "all":
			s.Value = hidden
		case hide == "password":
			s.Value = withoutPassword(s.Value)
		case hide == "passwords":
			var urls []string
			for _, u := range strings.Fields(s.Value) {
				urls = append(urls, withoutPassword(u))
			}
			s.Value = strings.Join(urls, " ")
		}
		s.Value = printable(s.Value)
		all = append(all, s)
	}
	_, memory := memoryLimit(environment, memlimit.FromCgroup)
	return append(append(all, memory), telemetrySettings(environment)...)
}

func telemetrySettings(environment map[string]string) []Setting {
	var all []Setting
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		value := environment[name]
		switch {
		case !strings.HasPrefix(name, "OTEL_"):
			continue
		case strings.Contains(name, "HEADERS") || holdsSecret(name):
			value = hidden
		case strings.Contains(value, "://"):
			value = withoutPassword(value)
		}
		all = append(all, Setting{name, printable(value), "environment"})
	}
	return all
}

const (
	hidden   = "hidden"
	unparsed = "hidden: it cannot be parsed"
)

// withoutPassword hides the secrets in a URL or in a PostgreSQL keyword string. It hides the whole text if it cannot
// parse it, because an unescaped password can end up in any part of a URL.
func withoutPassword(text string) string {
	if !strings.Contains(text, "://") {
		return keywordsWithoutPassword(text)
	}
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" || strings.Contains(u.Host+u.Path+u.RawQuery, "@") {
		return unparsed
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return unparsed
	}
	for name := range query {
		if holdsSecret(name) {
			query[name] = []string{hidden}
		}
	}
	u.RawQuery = query.Encode()
	_, hasPassword := u.User.Password()
	switch {
	case hasPassword:
		u.User = url.UserPassword(u.User.Username(), hidden)
	case u.User != nil && !strings.HasPrefix(u.Scheme, "postgres"):
		u.User = url.User(hidden) // outside PostgreSQL, a user name alone is often a token
	}
	return u.String()
}

var keyword = regexp.MustCompile(`^\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)(?:\s+|$)`)

func keywordsWithoutPassword(text string) string {
	var pairs []string
	for text != "" {
		match := keyword.FindStringSubmatch(text)
		if match == nil {
			return unparsed
		}
		name, value := match[1], match[2]
		if holdsSecret(name) {
			value = hidden
		}
		pairs = append(pairs, name+"="+value)
		text = text[len(match[0]):]
	}
	return strings.Join(pairs, " ")
}

// holdsSecret reports whether the name of a parameter suggests a secret. It includes paths of key files.
func holdsSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"pass", "secret", "token", "key"}, func(part string) bool {
		return strings.Contains(name, part)
	})
}

// printable quotes a value that would break the table.
func printable(value string) string {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return strconv.Quote(value)
	}
	return value
}
