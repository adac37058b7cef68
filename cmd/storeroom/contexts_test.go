package main

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// contextValues are the values that a context may carry. Only package api reads that of HTTP requests, and only the
// server that of connections: what a store works on, such as a transaction, is an argument.
var contextValues = map[string]string{
	"api/middleware.go:stateKey{}":                  "the state of an HTTP request",
	"cmd/storeroom/server/connections.go:connKey{}": "the connection of an HTTP request",
	"tenancy/db/telemetry.go:roundTripKey{}":        "a span",
	"tenancy/limits/ticket.go:ticketKey{}":          "the ticket of a request",
}

func TestAContextCarriesNothingThatChangesACall(t *testing.T) {
	t.Parallel()
	key := regexp.MustCompile(`\.WithValue\([^,]*,([^,]*),`)
	var found []string
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile("../../" + path)
		for _, match := range key.FindAllSubmatch(source, -1) {
			found = append(found, path+":"+strings.TrimSpace(string(match[1])))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range found {
		if contextValues[value] == "" {
			t.Errorf("a context carries %s: pass it as an argument", value)
		}
	}
	for value := range contextValues {
		if !slices.Contains(found, value) {
			t.Errorf("no context carries %s: remove it from contextValues", value)
		}
	}
}

// A handler that works on the pool would write outside the claim of its request.
func TestHandlersWorkOnTheDatabaseOfTheirRequest(t *testing.T) {
	t.Parallel()
	// The functions that choose the database of a request, and work that is not that of a request.
	allowed := map[string]int{
		"api/changes.go":     1, // the entries of a webhook
		"api/images.go":      2, // reserves and releases the file of a picture, which no claim takes back
		"api/server.go":      4, // Server.database, and the options of the pages
		"api/pages/pages.go": 2, // the database of a user
	}
	pool := regexp.MustCompile(`\b[sp]\.(?:DB\b|(?:Reports|Feed|Webhooks|Plans)\.[A-Z]\w*|Keys\.(?:List|Create|Roll|Revoke)\b)`)
	for _, pattern := range []string{"api/*.go", "api/pages/*.go"} {
		paths, err := fs.Glob(os.DirFS("../.."), pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			source, err := os.ReadFile("../../" + path)
			if err != nil {
				t.Fatal(err)
			}
			found := slices.DeleteFunc(pool.FindAllString(string(source), -1), func(use string) bool {
				return strings.HasSuffix(use, ".On")
			})
			if len(found) != allowed[path] && !strings.HasSuffix(path, "_test.go") {
				t.Errorf("%s uses the pool in %q, want %d uses", path, found, allowed[path])
			}
		}
	}
}
