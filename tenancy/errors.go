package tenancy

import (
	"errors"
	"fmt"
)

// Errors that callers branch on.
var (
	// ErrNotFound reports that the tenant has no such row, whether or not another
	// tenant has it.
	ErrNotFound = errors.New("not found")
	// ErrBusy reports that no connection became free within five seconds. The caller may
	// try again.
	ErrBusy = errors.New("no database connection is free")
	// ErrMoving reports that the rows of the tenant are being moved to another node of a cluster. The caller may try
	// again.
	ErrMoving = errors.New("the tenant is being moved")
	// ErrConflict reports that a unique name already exists.
	ErrConflict = errors.New("already exists")
	// ErrEnded reports that a session or a link has ended, does not exist, or no longer
	// gives the role that the action needs.
	ErrEnded = errors.New("has ended")
)

// Wrap returns an error whose text begins with what was done, or nil if err is nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
