package reports

import (
	"regexp"
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
	var lines []string
	for line := range strings.SplitSeq(unindent(template), "\n") {
		for at := fragmentName.FindStringIndex(line); at != nil; at = fragmentName.FindStringIndex(line) {
			fragment := unindent(fragments[line[at[0]+1:at[1]-1]])
			column := at[0] - (strings.LastIndex(line[:at[0]], "\n") + 1)
			indented := strings.ReplaceAll(fragment, "\n", "\n"+strings.Repeat(" ", column))
			line = line[:at[0]] + indented + line[at[1]:]
		}
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
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

// totals adds up each of the sums.
var totals = func() string {
	expressions := map[string]string{}
	for _, c := range sums.Columns() {
		expressions[c.Name] = "coalesce(sum(" + c.Name + "), 0)"
	}
	return sumList(expressions)
}()
