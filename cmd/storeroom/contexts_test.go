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
