//go:build !ops

package api

// The sizes of TestPlansDoNotDependOnStatistics in `make test`.
const (
	planProducts    = 1_500
	planOrders      = 3_000
	planOtherOrders = 3_000 // of the other tenant
	planRefunded    = 6
	planCancelled   = 6
)
