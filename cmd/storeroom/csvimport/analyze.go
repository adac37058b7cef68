package csvimport

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// analyzed are the tables that an import fills.
var analyzed = []string{
	"products", "stock", "inventory_adjustments", "customers", "sold_products", "orders", "order_items", "refunds", "refund_items", "sales_rollups",
}

// Analyze lets PostgreSQL look at its tables anew. It plans by what it saw last,
// and looks by itself once a minute where a tenth of a table has changed: of a
// tenant that is larger than most and came since, it knows nothing, and joins over
// all of its rows take minutes instead of seconds. It needs the migrator's
// connection, and takes less than a second. What it cannot do it leaves: figures
// do not depend on it.
func Analyze(ctx context.Context, db *tenancy.DB) {
	_ = db.Conn(ctx, func(conn *pgx.Conn) error {
		for _, table := range analyzed {
			_, _ = conn.Exec(ctx, "analyze "+pgx.Identifier{table}.Sanitize()) // somebody else may be at it
		}
		return nil
	})
}
