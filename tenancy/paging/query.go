package paging

import (
	"fmt"
	"strconv"
	"strings"
)

// Query collects the conditions of a list and the arguments of its queries.
type Query struct {
	Args       []any
	conditions []string
}

// Arg adds an argument and returns its placeholder.
func (q *Query) Arg(value any) string {
	q.Args = append(q.Args, value)
	return "$" + strconv.Itoa(len(q.Args))
}

// Where adds a condition. Each %s is a placeholder for the next of args.
func (q *Query) Where(format string, args ...any) {
	placeholders := make([]any, len(args))
	for i, value := range args {
		placeholders[i] = q.Arg(value)
	}
	q.conditions = append(q.conditions, fmt.Sprintf(format, placeholders...))
}

// HasFilter reports whether there is a condition besides the first one, which selects the tenant.
func (q *Query) HasFilter() bool { return len(q.conditions) > 1 }

// Conditions returns the where clause.
func (q *Query) Conditions() string { return "\n where " + strings.Join(q.conditions, "\n   and ") }

// Limit returns the limit clause. Its arguments are the last ones.
func (q *Query) Limit(limit int, offset int64) string {
	return "\n limit " + q.Arg(limit) + " offset " + q.Arg(offset)
}

// Indent moves a query to the right that is written inside another one.
func Indent(sql string) string { return strings.ReplaceAll(sql, "\n", "\n       ") }
