package api

import (
	"strings"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy/money"
)

// explainJSON says what the figures of a report are made of.
type explainJSON struct {
	Formulas map[string]formulaJSON `json:"formulas"`
	Groups   []groupJSON            `json:"groups"`
	LeftOut  []leftOutJSON          `json:"left_out"`
}

type formulaJSON struct {
	Formula  string       `json:"formula"`
	Unit     reports.Unit `json:"unit"`
	Rounding *string      `json:"rounding"`
	OverZero *string      `json:"over_zero"`
}

type groupJSON struct {
	Name string   `json:"name"` // by which formulas call it
	Path *string  `json:"path"` // of its figures in the answer; null where it shows none
	Sums sumsJSON `json:"sums"`
}

type sumsJSON struct {
	Orders           int64       `json:"orders"`
	Items            int64       `json:"items"`
	Units            int64       `json:"units"`
	UnitsWithoutCost int64       `json:"units_without_cost"`
	Gross            money.Cents `json:"gross"`
	Discounts        money.Cents `json:"discounts"`
	Tax              money.Cents `json:"tax"`
	Cost             money.Cents `json:"cost"`
	RefundCount      int64       `json:"refund_count"`
	Refunds          money.Cents `json:"refunds"`
}

type leftOutJSON struct {
	Reason      string      `json:"reason"`
	Orders      int64       `json:"orders"`
	Items       int64       `json:"items"`
	Units       int64       `json:"units"`
	Revenue     money.Cents `json:"revenue"`
	RefundCount int64       `json:"refund_count"`
	Refunds     money.Cents `json:"refunds"`
}

// places says where in an answer the groups of its explanation are.
type places map[string]string

// of is the path of a group such as "rows[3]"; nil is nowhere.
func (p places) of(group string) *string {
	kind, index, indexed := strings.Cut(group, "[")
	path, known := p[kind]
	switch {
	case !known:
		return nil
	case indexed:
		path += "[" + index
	}
	return &path
}

// explainShape is nil where no explanation was asked for.
func explainShape(e *reports.Explain, p places) *explainJSON {
	if e == nil {
		return nil
	}
	shape := &explainJSON{Formulas: map[string]formulaJSON{}}
	for name, f := range e.Formulas {
		shape.Formulas[name] = formulaJSON{f.Formula, f.Unit, orNull(f.Rounding), orNull(f.OverZero)}
	}
	shape.Groups = mapSlice(e.Groups, func(g reports.Group) groupJSON {
		return groupJSON{g.Path, p.of(g.Path), sumsJSON{
			g.Orders, g.Items, g.Units, g.UnitsWithoutCost, g.Gross(), g.Discounts, g.Tax, g.Cost, g.RefundCount, g.Refunds,
		}}
	})
	shape.LeftOut = mapSlice(e.LeftOut, func(l reports.LeftOut) leftOutJSON {
		return leftOutJSON{l.Reason, l.Orders, l.Items, l.Units, l.Revenue, l.RefundCount, l.Refunds}
	})
	return shape
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
