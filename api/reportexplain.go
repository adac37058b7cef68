package api

import (
	"strings"

	"github.com/storeroom/storeroom/reports"
)

// explainJSON shows how the figures of a report are computed.
type explainJSON struct {
	Formulas map[string]formulaJSON `json:"formulas"`
	Groups   []groupJSON            `json:"groups"`
	LeftOut  []jsonObject           `json:"left_out"`
}

type formulaJSON struct {
	Formula  string       `json:"formula"`
	Unit     reports.Unit `json:"unit"`
	Rounding *string      `json:"rounding"`
	OverZero *string      `json:"over_zero"`
}

type groupJSON struct {
	Name string     `json:"name"` // in formulas
	Path *string    `json:"path"` // of its figures in the response; null if it has none
	Sums jsonObject `json:"sums"`
}

// groupPaths are the paths in a response by the name of the groups in reports.Explain.
type groupPaths map[string]string

// path returns the path of a group such as "rows[3]", or nil if the response does not
// show it.
func (p groupPaths) path(group string) *string {
	name, index, indexed := strings.Cut(group, "[")
	path, ok := p[name]
	if !ok {
		return nil
	}
	if indexed {
		path += "[" + index
	}
	return &path
}

// explainShape returns nil if no explanation was requested.
func explainShape(e *reports.Explain, paths groupPaths) *explainJSON {
	if e == nil {
		return nil
	}
	shape := &explainJSON{Formulas: map[string]formulaJSON{}}
	for name, f := range e.Formulas {
		shape.Formulas[name] = formulaJSON{f.Formula, f.Unit, orNull(f.Rounding), orNull(f.OverZero)}
	}
	shape.Groups = mapSlice(e.Groups, func(g reports.Group) groupJSON {
		return groupJSON{g.Path, paths.path(g.Path), jsonObject{}.with(reports.ExplainColumns, g.Sums)}
	})
	shape.LeftOut = mapSlice(e.LeftOut, func(l reports.LeftOut) jsonObject {
		return jsonObject{{"reason", l.Reason}}.with(reports.LeftOutColumns, l.Sums)
	})
	return shape
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
