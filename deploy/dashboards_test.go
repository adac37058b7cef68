package deploy

import (
	"encoding/json"
	"regexp"
	"testing"
)

// dashboard contains the checked fields of a file in grafana/dashboards.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Panels        []panel
	Templating    struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               struct{ UID string }
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Options                  struct{ Content string }
	Targets                  []struct{ RefID, Expr, LegendFormat string }
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	all := map[string]dashboard{}
	for _, name := range files(t, "grafana/dashboards/*.json") {
		var d dashboard
		if err := json.Unmarshal([]byte(read(t, name)), &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = d
	}
	return all
}

func TestDashboardsUseExistingMetrics(t *testing.T) {
	t.Parallel()
	known := metrics(t, recordings(rules(t)))
	uids := map[string]bool{}
	for name, d := range dashboards(t) {
		if d.UID == "" || uids[d.UID] || d.Title == "" || d.SchemaVersion < 39 {
			t.Errorf(
				"%s: uid %q, title %q, schema %d, want a unique uid, a title and 39 or later",
				name,
				d.UID,
				d.Title,
				d.SchemaVersion,
			)
		}
		uids[d.UID] = true
		variables := map[string]bool{"__rate_interval": true, "__range": true}
		for _, v := range d.Templating.List {
			variables[v.Name] = true
		}
		if list := d.Templating.List; len(list) == 0 || list[0].Name != "datasource" || list[0].Type != "datasource" ||
			list[0].Query != "prometheus" {
			t.Errorf("%s has no variable for the data source", name)
		}
		ids, taken := map[int]bool{}, map[[2]int]string{}
		for _, p := range d.Panels {
			if ids[p.ID] {
				t.Errorf("%s: the id %d is used twice", name, p.ID)
			}
			ids[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s: %s overlaps %q or the edge", name, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			for _, problem := range p.problems(known, variables) {
				t.Errorf("%s: %s: %s", name, p.Title, problem)
			}
		}
	}
}

var variable = regexp.MustCompile(`\$\{?(\w+)\}?`)

// problems lists missing parts of a panel and invalid queries.
func (p panel) problems(known map[string]map[string]bool, variables map[string]bool) []string {
	var problems []string
	texts := []string{p.Options.Content}
	if p.Title == "" {
		problems = append(problems, "it has no title")
	}
	if p.Type != "row" && p.Description == "" {
		problems = append(problems, "it has no description")
	}
	if p.Type != "row" && p.Type != "text" {
		if p.FieldConfig.Defaults.Unit == "" {
			problems = append(problems, "it has no unit")
		}
		if p.Datasource.UID != "${datasource}" {
			problems = append(problems, "its data source is not the variable")
		}
		if len(p.Targets) == 0 {
			problems = append(problems, "it has no query")
		}
	}
	refs := map[string]bool{}
	for _, target := range p.Targets {
		if target.RefID == "" || refs[target.RefID] || target.LegendFormat == "" {
			problems = append(problems, "a query has no unique id or no legend")
		}
		refs[target.RefID] = true
		texts = append(texts, target.Expr)
		problems = append(problems, unknownNames(target.Expr, known)...)
	}
	for _, text := range texts {
		for _, found := range variable.FindAllStringSubmatch(text, -1) {
			if !variables[found[1]] {
				problems = append(problems, "unknown variable "+found[1])
			}
		}
	}
	return problems
}
