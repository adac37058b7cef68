//go:build !linux

package threads

// Compute does nothing: other systems have no slices.
func Compute() (done func()) { return func() {} }

// Background does nothing: other systems have no priority of threads.
func Background() error { return nil }
