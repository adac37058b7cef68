package main

import "errors"

// failure is what check panics with.
type failure struct{ error }

// check ends the run if err is not nil: main prints the error when deferred calls have closed what was open. Set-up and
// measurements use it, because any of their errors ends the run. Work in other goroutines returns its errors.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must is check for a call with a result.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// catch calls f and returns the error of check.
func catch(f func()) (err error) {
	defer func() { err = joined(recover(), nil) }()
	f()
	return nil
}

// closing is deferred. It calls close, also when check ends the run.
func closing(close func() error) { check(joined(recover(), close())) }

// closeFailed is deferred by functions that open something for their caller. It calls close only when check ends the
// run.
func closeFailed(close func() error) {
	if ended := recover(); ended != nil {
		check(joined(ended, close()))
	}
}

// joined returns the error of check, if it caused the panic, and err. It continues any other panic.
func joined(ended any, err error) error {
	switch ended := ended.(type) {
	case nil:
		return err
	case failure:
		return errors.Join(ended.error, err)
	default:
		panic(ended)
	}
}
