package api

import (
	"strings"

	"github.com/storeroom/storeroom/reports"
)

// explainShape returns the field that shows how the figures of a report are computed. Its value is nil if no
// explanation was requested. The paths in the response are given by the name of the
// group in reports.Explain; a group that the response does not show has none.
func explainShape(e *reports.Explain, paths map[string]string) jsonField {
	if e == nil {
		return jsonField{"explain", nil}
	}
	formulas := map[string]jsonObject{}
	for name, f := range e.Formulas {
		formulas[name] = jsonObject{
			{"formula", f.Formula}, {"unit", f.Unit},
			{"rounding", orNull(f.Rounding)}, {"over_zero", orNull(f.OverZero)}, {"null_if", orNull(f.NullIf)},
		}
	}
	groups := arrayFrom(e.Groups, func(g reports.Group) jsonObject {
		name, index, indexed := strings.Cut(g.Path, "[")
		path := paths[name]
		if path != "" && indexed {
			path += "[" + index
		}
		return jsonObject{{"name", g.Path}, {"path", orNull(path)}, {"sums", figures{e.Columns(), g.Sums}}}
	})
	leftOut := arrayFrom(e.LeftOut, func(l reports.LeftOut) jsonObject {
		return jsonObject{{"reason", l.Reason}, {"", figures{reports.LeftOutColumns, l.Sums}}}
	})
	return jsonField{"explain", jsonObject{{"formulas", formulas}, {"groups", groups}, {"left_out", leftOut}}}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
