//go:build ops

package api

// The sizes of TestPlansDoNotDependOnStatistics in `make test-ops`: 1,000,000 items.
const (
	planProducts    = 20_000
	planOrders      = 200_000
	planOtherOrders = 50_000 // of the other tenant
	planRefunded    = 20
	planCancelled   = 50
	planPagesFloor  = 30_000 // PostgreSQL reads as many from its cache in about 25 ms
)
