package catalog

import (
	"fmt"
	"strconv"
	"strings"
)

// listQuery collects the conditions of a list and the arguments of its queries.
type listQuery struct {
	sql  []string
	args []any
}

// arg adds an argument and returns its placeholder.
func (q *listQuery) arg(value any) string {
	q.args = append(q.args, value)
	return "$" + strconv.Itoa(len(q.args))
}

// where adds a condition. Each %s is a placeholder for the next of args.
func (q *listQuery) where(format string, args ...any) {
	placeholders := make([]any, len(args))
	for i, value := range args {
		placeholders[i] = q.arg(value)
	}
	q.sql = append(q.sql, fmt.Sprintf(format, placeholders...))
}

// conditions returns the where clause.
func (q *listQuery) conditions() string { return "\n where " + strings.Join(q.sql, "\n   and ") }

// limit returns the limit clause. Its arguments are the last ones.
func (q *listQuery) limit(limit int, offset int64) string {
	return "\n limit " + q.arg(limit) + " offset " + q.arg(offset)
}

// indent moves a query to the right that is written inside another one.
func indent(sql string) string { return strings.ReplaceAll(sql, "\n", "\n       ") }
