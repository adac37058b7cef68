package reports

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/reports/sums"
)

// arguments are the arguments of a query. The first is the tenant.
type arguments []any

// add appends an argument and returns its placeholder.
func (a *arguments) add(value any) string {
	*a = append(*a, value)
	return "$" + strconv.Itoa(len(*a))
}

var fragmentName = regexp.MustCompile(`\{[a-z_]+\}`)

// fill replaces each {name} in an SQL template with its fragment. It indents the
// lines of a fragment to the column of its name, and removes empty lines.
func fill(template string, fragments map[string]string) string {
	sql := unindent(template)
	for at := fragmentName.FindStringIndex(sql); at != nil; at = fragmentName.FindStringIndex(sql) {
		fragment := unindent(fragments[sql[at[0]+1:at[1]-1]])
		column := at[0] - (strings.LastIndex(sql[:at[0]], "\n") + 1)
		sql = sql[:at[0]] + strings.ReplaceAll(fragment, "\n", "\n"+strings.Repeat(" ", column)) + sql[at[1]:]
	}
	isEmpty := func(line string) bool { return strings.TrimSpace(line) == "" }
	return strings.Join(slices.DeleteFunc(strings.Split(sql, "\n"), isEmpty), "\n")
}

// unindent removes the indentation that SQL has in Go source.
func unindent(sql string) string {
	if !strings.HasPrefix(sql, "\n") {
		return sql
	}
	return strings.ReplaceAll(sql, "\n\t\t", "\n")[1:]
}

// sumList lists the sums in the order of sums.List, computed from SQL expressions by
// column. Sums without an expression are 0.
func sumList(expressions map[string]string) string {
	var list []string
	for _, c := range sums.Columns() {
		expression, ok := expressions[c.Name]
		if !ok {
			expression = "0"
		}
		list = append(list, expression+"::bigint as "+c.Name)
	}
	return strings.Join(list, ",\n")
}

// totals adds up each of the sums. additiveTotals has 0 for those that do not add up over the
// lines of orders and refunds.
var totals, additiveTotals = totalsWithout(), totalsWithout("orders", "refund_count")

func totalsWithout(columns ...string) string {
	expressions := map[string]string{}
	for _, c := range sums.Columns() {
		if !slices.Contains(columns, c.Name) {
			expressions[c.Name] = "add_up(" + c.Name + ")"
		}
	}
	return sumList(expressions)
}

// negative is each of the sums with the other sign.
var negative = func() string {
	expressions := map[string]string{}
	for _, c := range sums.Columns() {
		expressions[c.Name] = "-" + c.Name
	}
	return sumList(expressions)
}()
