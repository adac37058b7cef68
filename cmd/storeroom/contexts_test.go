package main

import (
	"io/fs"
	"os"
	"path/filepath"
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

// A store of a handler that works on the pool would write outside the claim of the request.
func TestHandlersWorkOnTheDatabaseOfTheirRequest(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`\b[sp]\.(?:Catalog|Sales|Reports|Feed|Webhooks|Imports|Changes)\.([A-Z]\w*)`)
	calls := 0
	for _, pattern := range []string{"../../api/*.go", "../../api/pages/*.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range call.FindAllSubmatch(source, -1) {
				calls++
				if string(match[1]) != "On" && !strings.HasSuffix(path, "_test.go") {
					t.Errorf("%s: %s does not work on the database of the request", path, match[0])
				}
			}
		}
	}
	if calls == 0 {
		t.Error("found no stores")
	}
}
