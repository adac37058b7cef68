package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// TestTheDocumentIsValidYAML checks what Go's parsers accept, but YAML 1.2 and the parsers of other languages refuse.
func TestTheDocumentIsValidYAML(t *testing.T) {
	t.Parallel()
	if got := badIndents(t, openAPIYAML); len(got) > 0 {
		t.Errorf("openapi.yaml:\n%s", strings.Join(got, "\n"))
	}
	for _, c := range []struct {
		name, yaml string
		want       []string
	}{
		{name: "a map that continues behind its key", yaml: "a: {b: 1,\n  c: 2\n }\nd: 1"},
		{name: "a list of maps", yaml: "a:\n- {b: 1,\n  c: 2}\n- d: |\n    e\n\n    # f"},
		{name: "a text at its key", yaml: "a:\n  b: 'c\n  d'", want: []string{"3: d'"}},
		{name: "a map at its dash", yaml: "a:\n  - {b: 1,\n  c: 2}", want: []string{"3: c: 2}"}},
		{name: "a map left of its dash", yaml: "a:\n  - {b: 1,\n c: 2}\n  - d", want: []string{"3: c: 2}"}},
		{name: "a bracket at its key", yaml: "a: [\n  b\n]\nc: 1", want: []string{"3: ]"}},
	} {
		if diff := cmp.Diff(c.want, badIndents(t, []byte(c.yaml))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// badIndents lists the lines that continue a value at or left of its key or dash.
func badIndents(t *testing.T, document []byte) []string {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		t.Fatal(err)
	}
	begins := map[int]int{}
	blockColumns(&root, begins)
	var bad []string
	column := 0
	for i, line := range strings.Split(string(document), "\n") {
		text := strings.TrimLeft(line, " ")
		if begin, ok := begins[i+1]; ok {
			column = begin
		} else if text != "" && text[0] != '#' && len(line)-len(text) < column {
			bad = append(bad, fmt.Sprintf("%d: %s", i+1, text))
		}
	}
	return bad
}

// blockColumns records the column of the last key or dash of each line, outside of flow collections.
func blockColumns(node *yaml.Node, columns map[int]int) {
	if node.Style&yaml.FlowStyle != 0 {
		return
	}
	for i, child := range node.Content {
		switch {
		case node.Kind == yaml.SequenceNode:
			columns[child.Line] = max(columns[child.Line], node.Column)
		case node.Kind == yaml.MappingNode && i%2 == 0:
			columns[child.Line] = max(columns[child.Line], child.Column)
		}
		blockColumns(child, columns)
	}
}
