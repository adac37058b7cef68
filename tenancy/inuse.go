package tenancy

import "fmt"

// MaxUses is where packages stop counting the objects that prevent a deletion.
const MaxUses = 1000

// InUseError rejects the deletion of an object that others refer to. Its text is shown to the client, such as "3
// products use this category".
type InUseError string

// Error returns the text.
func (e InUseError) Error() string { return string(e) }

// InUse returns an InUseError. A count above MaxUses means "more than MaxUses". The count is 0 if the users were
// deleted in the meantime.
func InUse(count int64, user, used string) InUseError {
	switch {
	case count == 0:
		return InUseError(fmt.Sprintf("The %s is in use", used))
	case count == 1:
		return InUseError(fmt.Sprintf("1 %s uses this %s", user, used))
	case count > MaxUses:
		return InUseError(fmt.Sprintf("More than 1,000 %ss use this %s", user, used))
	}
	return InUseError(fmt.Sprintf("%d %ss use this %s", count, user, used))
}
