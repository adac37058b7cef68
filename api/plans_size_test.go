//go:build !ops

package api

// The sizes of TestPlansDoNotDependOnStatistics in `make test`.
const (
	planProducts    = 1_000
	planOrders      = 2_000
	planOtherOrders = 2_000 // of the other tenant
	planRefunded    = 6
	planCancelled   = 6
	planPagesFloor  = 300
)
