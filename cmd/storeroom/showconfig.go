package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/urfave/cli/v3"
)

func (c console) configCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "print what serve would run with, secrets hidden, and every fault of it",
		Description: "Values come from the environment, or from .local/env where they are not set there. The OTEL_… variables\n" +
			"that are set stand at the end. The exit code is 1 if serve would refuse to start with them.",
		Flags: []cli.Flag{jsonFlag()},
		Action: func(_ context.Context, cmd *cli.Command) error {
			saved, err := c.saved()
			if err != nil {
				return err
			}
			all := append(settingsOf(saved, c.environment()), c.exportSettings()...)
			if err := c.answer(cmd, all, func(w io.Writer) { listSettings(w, all) }); err != nil {
				return err
			}
			_, err = c.serveConfig()
			return err
		},
	}
}

// setting is a variable as people may see it.
type setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // environment, .local/env, default or not set
}

func listSettings(w io.Writer, all []setting) {
	fmt.Fprintln(w, "NAME\tVALUE\tSOURCE")
	for _, s := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, cmp.Or(s.Value, "-"), s.Source)
	}
}

// settingsOf are the fields of config, in their order.
func settingsOf(saved, environment map[string]string) []setting {
	cfg, _ := parseConfig(merged(saved, environment)) // faults are told by themselves
	base, _ := cfg.baseURLOr(cfg.Addr)
	derived := map[string]string{"DATABASE_DIRECT_URL": cfg.DatabaseURL, "STOREROOM_LOG_FORMAT": "json"}
	if base != nil {
		derived["STOREROOM_BASE_URL"] = base.String()
	}
	var all []setting
	for field := range reflect.TypeFor[config]().Fields() {
		s := setting{Name: field.Tag.Get("env"), Source: "default"}
		s.Value = cmp.Or(field.Tag.Get("envDefault"), derived[s.Name])
		if value, set := saved[s.Name]; set {
			s.Value, s.Source = value, ".local/env"
		}
		if value, set := environment[s.Name]; set {
			s.Value, s.Source = value, "environment"
		}
		switch hide := field.Tag.Get("hide"); {
		case s.Value == "":
			s.Source = "not set"
		case hide == "all":
			s.Value = hidden
		case hide == "password":
			s.Value = withoutPassword(s.Value)
		}
		s.Value = printable(s.Value)
		all = append(all, s)
	}
	return all
}

// exportSettings are the standard variables of OpenTelemetry that are set. They are the
// process's own: nothing is read from .local/env.
func (c console) exportSettings() []setting {
	environment := c.environment()
	var all []setting
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
		all = append(all, setting{name, printable(value), "environment"})
	}
	return all
}

const (
	hidden     = "hidden"
	unreadable = "hidden: it cannot be read"
)

// withoutPassword shows a URL, or PostgreSQL's keywords and values, without what
// nobody may see. What it cannot take apart it does not show at all: a password with
// an unescaped character ends up in any part of an address.
func withoutPassword(text string) string {
	if !strings.Contains(text, "://") {
		return keywordsWithoutPassword(text)
	}
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" || strings.Contains(u.Host+u.Path+u.RawQuery, "@") {
		return unreadable
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return unreadable
	}
	for name := range query {
		if holdsSecret(name) {
			query[name] = []string{hidden}
		}
	}
	u.RawQuery = query.Encode()
	_, set := u.User.Password()
	switch {
	case set:
		u.User = url.UserPassword(u.User.Username(), hidden)
	case u.User != nil && !strings.HasPrefix(u.Scheme, "postgres"):
		u.User = url.User(hidden) // elsewhere a name alone is often a token
	}
	return u.String()
}

var keyword = regexp.MustCompile(`^\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s'\\]|\\.)*)(?:\s+|$)`)

func keywordsWithoutPassword(text string) string {
	var pairs []string
	for text != "" {
		found := keyword.FindStringSubmatch(text)
		if found == nil {
			return unreadable
		}
		if holdsSecret(found[1]) {
			found[2] = hidden
		}
		pairs = append(pairs, found[1]+"="+found[2])
		text = text[len(found[0]):]
	}
	return strings.Join(pairs, " ")
}

// holdsSecret judges a parameter by its name; a path to a key is hidden with the keys.
func holdsSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"pass", "secret", "token", "key"}, func(part string) bool { return strings.Contains(name, part) })
}

// printable keeps a value on one line of the table.
func printable(value string) string {
	if strings.ContainsFunc(value, unicode.IsControl) {
		return strconv.Quote(value)
	}
	return value
}
