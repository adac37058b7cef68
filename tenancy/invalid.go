package tenancy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// InvalidError says what is wrong with which field, all faults at once: the keys
// are field names (`price`, `items[3].price`), the values sentences without a
// subject ("must be …"). The zero map is no error; see Err.
type InvalidError map[string][]string

// Add notes a fault of a field, once.
func (e InvalidError) Add(field, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if !slices.Contains(e[field], message) {
		e[field] = append(e[field], message)
	}
}

// Clone returns a copy that can be added to.
func (e InvalidError) Clone() InvalidError {
	c := InvalidError{}
	for field, messages := range e {
		c[field] = slices.Clone(messages)
	}
	return c
}

// Err returns e as an error, or nil when nothing is wrong.
func (e InvalidError) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Error lists the faults by field.
func (e InvalidError) Error() string {
	var faults []string
	for _, field := range slices.Sorted(maps.Keys(e)) {
		faults = append(faults, field+" "+strings.Join(e[field], ", "))
	}
	return strings.Join(faults, "; ")
}
