//go:build !ops

package api

// The sizes of TestPlansDoNotDependOnStatistics in `make test`.
const (
	planProducts  = 1_500
	planOrders    = 3_000
	planRefunded  = 6
	planCancelled = 6
)
