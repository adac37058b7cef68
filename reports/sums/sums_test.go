package sums_test

import (
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/reports/sums"
)

// TestColumnsMatchFields checks the column list against the fields of Sums.
func TestColumnsMatchFields(t *testing.T) {
	t.Parallel()
	var s sums.Sums
	fields, columns, destinations := reflect.ValueOf(&s).Elem(), sums.Columns(), s.Destinations()
	if fields.NumField() != len(columns) {
		t.Fatalf("Sums has %d fields and %d columns", fields.NumField(), len(columns))
	}
	for i, c := range columns {
		field := fields.Type().Field(i)
		if got := snakeCase(field.Name); got != c.Name {
			t.Errorf("column %d is %s, want %s", i, c.Name, got)
		}
		if money := field.Type.Name() == "Cents"; money != c.Money {
			t.Errorf("column %s has Money = %v, want %v", c.Name, c.Money, money)
		}
		*destinations[i].(*int64) = int64(i + 1)
		if got := fields.Field(i).Int(); got != int64(i+1) {
			t.Errorf("scanning column %s sets %s to %d, want %d", c.Name, field.Name, got, i+1)
		}
	}
}

func snakeCase(name string) string {
	return strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "${1}_${2}"))
}

func TestSQLLists(t *testing.T) {
	t.Parallel()
	if !strings.HasPrefix(sums.List, "orders, items, units, units_without_cost, ") {
		t.Errorf("List = %q", sums.List)
	}
	if got, want := sums.Expand("{} = r.{}"), "orders = r.orders, items = r.items, "; !strings.HasPrefix(got, want) {
		t.Errorf("Expand = %q, want the prefix %q", got, want)
	}
	if got, want := sums.Parameters(6), "$6::bigint[], $7::bigint[], "; !strings.HasPrefix(got, want) {
		t.Errorf("Parameters(6) = %q, want the prefix %q", got, want)
	}
}

func TestArraysHoldEachColumnOfEachRow(t *testing.T) {
	t.Parallel()
	arrays := sums.Arrays([]sums.Sums{{Orders: 1, ReturnedCost: 5}, {Orders: 2}})
	if got := arrays[0].([]int64); !reflect.DeepEqual(got, []int64{1, 2}) {
		t.Errorf("orders = %v, want [1 2]", got)
	}
	if got := arrays[len(arrays)-1].([]int64); !reflect.DeepEqual(got, []int64{5, 0}) {
		t.Errorf("returned cost = %v, want [5 0]", got)
	}
}

func TestSubUndoesAdd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (s sums.Sums) {
			for _, field := range s.Destinations() {
				*field.(*int64) = rapid.Int64Range(-1e15, 1e15).Draw(t, label)
			}
			return s
		}
		a, b := draw("a"), draw("b")
		got := a
		if got.Add(b); got.Revenue != a.Revenue+b.Revenue || got.Orders != a.Orders+b.Orders {
			t.Fatalf("%+v plus %+v = %+v", a, b, got)
		}
		if got.Sub(b); got != a {
			t.Fatalf("%+v plus and minus %+v = %+v", a, b, got)
		}
	})
}

func TestAnOverflowPanics(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		a, b sums.Sums
		do   func(*sums.Sums, sums.Sums)
	}{
		{"above the maximum", sums.Sums{Revenue: math.MaxInt64}, sums.Sums{Revenue: 1}, (*sums.Sums).Add},
		{"below the minimum", sums.Sums{Refunds: math.MinInt64}, sums.Sums{Refunds: -1}, (*sums.Sums).Add},
		{"a count", sums.Sums{Units: math.MaxInt64 - 1}, sums.Sums{Units: 2}, (*sums.Sums).Add},
		{"subtract from the minimum", sums.Sums{Tax: math.MinInt64}, sums.Sums{Tax: 1}, (*sums.Sums).Sub},
		{"subtract a negative", sums.Sums{Tax: math.MaxInt64}, sums.Sums{Tax: -1}, (*sums.Sums).Sub},
		{"subtract the minimum", sums.Sums{}, sums.Sums{Tax: math.MinInt64}, (*sums.Sums).Sub},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Errorf("the result is %+v, want a panic", test.a)
				}
			}()
			test.do(&test.a, test.b)
		})
	}
	fits := sums.Sums{Revenue: math.MaxInt64, Cost: 5}
	fits.Add(sums.Sums{Revenue: -1, Cost: -7})
	if fits.Revenue != math.MaxInt64-1 || fits.Cost != -2 {
		t.Errorf("sums that fit are %+v", fits)
	}
}
