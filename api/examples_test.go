//go:build !fuzz

package api

import (
	"slices"
	"strings"
	"testing"

	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"go.yaml.in/yaml/v4"
)

// TestEveryResponseHasAnExample needs one for each type of a response that is text, and for each code of an error.
// TestExamplesMatchTheirSchemas validates them.
func TestEveryResponseHasAnExample(t *testing.T) {
	t.Parallel()
	mustContract(t).everyOperation(func(method, path string, o *v3.Operation) {
		for status, response := range o.Responses.Codes.FromOldest() {
			for kind, media := range response.Content.FromOldest() {
				text := kind == "application/json" || kind == "application/x-ndjson" || strings.HasPrefix(kind, "text/")
				found := examplesOf(media)
				if text && len(found) == 0 {
					t.Errorf("%s %s %s: no example of %s", method, path, status, kind)
				}
				codes := media.Extensions.GetOrZero("x-error-codes")
				if codes == nil {
					continue
				}
				for _, code := range codes.Content {
					if !slices.Contains(found, code.Value) {
						t.Errorf("%s %s %s: no example of %s", method, path, status, code.Value)
					}
				}
			}
		}
	})
}

// examplesOf returns the code of each example that is an error, and an empty text for each other one.
func examplesOf(media *v3.MediaType) []string {
	nodes := []*yaml.Node{media.Example}
	for _, named := range media.Examples.FromOldest() {
		nodes = append(nodes, named.Value)
	}
	var codes []string
	for _, node := range nodes {
		var failure struct{ Error struct{ Code string } }
		if node == nil {
			continue
		}
		if node.Kind == yaml.MappingNode && node.Decode(&failure) != nil {
			continue
		}
		codes = append(codes, failure.Error.Code)
	}
	return codes
}
