package api

import (
	"strings"

	"github.com/storeroom/storeroom/reports"
)

// explainShape shows how the figures of a report are computed. It returns nil if no
// explanation was requested. The paths in the response are given by the name of the
// group in reports.Explain; a group that the response does not show has none.
func explainShape(e *reports.Explain, paths map[string]string) jsonObject {
	if e == nil {
		return nil
	}
	formulas := map[string]jsonObject{}
	for name, f := range e.Formulas {
		formulas[name] = jsonObject{
			{"formula", f.Formula}, {"unit", f.Unit},
			{"rounding", orNull(f.Rounding)}, {"over_zero", orNull(f.OverZero)},
		}
	}
	groups := mapSlice(e.Groups, func(g reports.Group) jsonObject {
		name, index, indexed := strings.Cut(g.Path, "[")
		path := paths[name]
		if path != "" && indexed {
			path += "[" + index
		}
		sums := jsonObject{}.with(reports.ExplainColumns, g.Sums)
		return jsonObject{{"name", g.Path}, {"path", orNull(path)}, {"sums", sums}}
	})
	leftOut := mapSlice(e.LeftOut, func(l reports.LeftOut) jsonObject {
		return jsonObject{{"reason", l.Reason}}.with(reports.LeftOutColumns, l.Sums)
	})
	return jsonObject{{"formulas", formulas}, {"groups", groups}, {"left_out", leftOut}}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
