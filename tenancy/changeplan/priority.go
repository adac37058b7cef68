//go:build !linux

package changeplan

// lowerPriority does nothing: other systems have no priority of threads.
func lowerPriority() error { return nil }
