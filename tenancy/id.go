// Package tenancy has the words that all packages share: the id of a tenant, errors, texts, days and actors.
package tenancy

import "fmt"

// ID is a tenant's number.
type ID int64

// User returns the tenant as a user of package limits.
func (id ID) User() string { return fmt.Sprintf("tenant %d", id) }
