package tenancy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// InvalidError holds all validation errors of an input. The keys are field names
// (`price`, `items[3].price`), the values sentences without a subject ("must be …"). An
// empty map means that the input is valid; see Err.
type InvalidError map[string][]string

// Add adds a validation error of a field, unless the field already has it.
func (e InvalidError) Add(field, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if !slices.Contains(e[field], message) {
		e[field] = append(e[field], message)
	}
}

// Clone returns a deep copy.
func (e InvalidError) Clone() InvalidError {
	c := InvalidError{}
	for field, messages := range e {
		c[field] = slices.Clone(messages)
	}
	return c
}

// Err returns e, or nil if it is empty.
func (e InvalidError) Err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Error returns the validation errors, sorted by field.
func (e InvalidError) Error() string {
	var messages []string
	for _, field := range slices.Sorted(maps.Keys(e)) {
		messages = append(messages, field+" "+strings.Join(e[field], ", "))
	}
	return strings.Join(messages, "; ")
}
