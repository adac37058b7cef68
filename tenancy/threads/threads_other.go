//go:build !linux

package threads

// ShortenSlices does nothing: other systems have no slices.
func ShortenSlices() error { return nil }

// Compute does nothing.
func Compute() (done func()) { return func() {} }

// Background does nothing: other systems have no priority of threads.
func Background() error { return nil }
