//go:build fuzz

package api

import (
	"net/http"
	"testing"
)

// validateResponse does nothing in `make fuzz`, which sets the tag. Fuzzing instruments all imported
// packages, and the validator of contract_test.go would take 15 minutes to compile.
func validateResponse(testing.TB, *http.Request, *http.Response, []byte) {}
