package tenants

import (
	"context"
	"fmt"

	"github.com/bojanz/currency"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// checkCurrency returns what is wrong with the code of a currency, or "". Amounts have two decimals; a
// currency without decimals in use, such as JPY, is shown with .00.
func checkCurrency(code string) string {
	decimals, known := currency.GetDigits(code)
	switch {
	case !known:
		return "must be the ISO 4217 code of a currency in use, such as EUR"
	case decimals > 2:
		return fmt.Sprintf("must be a currency with at most two decimals; %s has %d", code, decimals)
	}
	return ""
}

// refuseCurrencyChange returns an InvalidError if the tenant has an order, because stored amounts have no
// currency. It waits for transactions that write rows of the tenant.
func refuseCurrencyChange(ctx context.Context, tx pgx.Tx, id tenancy.ID) error {
	var sold bool
	if _, err := tx.Exec(ctx, `select from tenants where id = $1 for update`, id); err != nil {
		return err
	}
	err := tx.QueryRow(ctx, `select exists (select from orders where tenant_id = $1)`, id).Scan(&sold)
	if sold && err == nil {
		err = tenancy.InvalidError{"currency": {"cannot change after the first order"}}
	}
	return err
}
