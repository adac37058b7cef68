package csvimport

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// analyzedTables are the tables that an import fills.
var analyzedTables = []string{
	"products", "stock", "inventory_adjustments", "customers", "sold_products",
	"orders", "order_items", "refunds", "refund_items", "sales_rollups",
}

// Analyze updates the statistics of PostgreSQL's planner, which takes less than a second.
// Without them, joins over all rows of a new large tenant take minutes. Autovacuum would
// update them up to a minute later. Analyze needs the migrator's connection. It ignores
// errors, because statistics do not change results.
func Analyze(ctx context.Context, db *tenancy.DB) {
	_ = db.Conn(ctx, func(conn *pgx.Conn) error {
		for _, table := range analyzedTables {
			_, _ = conn.Exec(ctx, "analyze "+pgx.Identifier{table}.Sanitize())
		}
		return nil
	})
}
