//go:build !ops

package dbtest

import (
	"flag"

	_ "pgregory.net/rapid" // defines the flag
)

// Properties are checked with 40 random cases instead of 100, because each case uses the database. The operational tests
// check 100, and -rapid.checks changes the number.
func init() {
	if err := flag.Set("rapid.checks", "40"); err != nil {
		panic(err)
	}
}
