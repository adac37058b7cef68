package reports

import (
	"regexp"
	"strconv"
	"strings"
)

// arguments are the arguments of a query. The first is the tenant.
type arguments []any

// add appends an argument and returns its placeholder.
func (a *arguments) add(value any) string {
	*a = append(*a, value)
	return "$" + strconv.Itoa(len(*a))
}

var fragmentName = regexp.MustCompile(`\{[a-z_]+\}`)

// fill replaces each {name} in an SQL template with its fragment, or with nothing.
func fill(template string, fragments map[string]string) string {
	return fragmentName.ReplaceAllStringFunc(template, func(name string) string {
		return fragments[strings.Trim(name, "{}")]
	})
}
