package imports_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/tenancy"
)

// TestUndoLeavesNoCustomerWithSeveralNames imports orders of a customer whose name differs, in one part of the plan and in
// several.
func TestUndoLeavesNoCustomerWithSeveralNames(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	row := func(n int, id, name string) string {
		return fmt.Sprintf("%d,2026-03-%02d,MUG,1,10.00,%s,%s\n", n, 1+n/100, id, name)
	}
	first, last := row(1, "ann", "Ann Sample"), row(900, "ann", "Ann Example")
	var between strings.Builder
	for n := 2; n < 700; n++ {
		between.WriteString(row(n, fmt.Sprint("c", n), "Bob"))
	}
	const header = "number,placed_at,sku,quantity,price,customer id,customer name\n"
	for _, rows := range []string{first + last, last + first, first + between.String() + last, last + between.String() + first} {
		i := j.mustApply(t, j.mustImport(t, imports.Settings{}, "sales.csv", header+rows).ID)
		i = j.mustRun(t, i.ID, j.Undo(t.Context(), j.tenant.ID, tenancy.Operator, i.ID))
		var left int
		if err := j.MustSuper(t).QueryRow(t.Context(), `select count(*) from customers`).Scan(&left); err != nil {
			t.Fatal(err)
		}
		if left > 0 {
			t.Errorf("%d customers stay, %+v", left, i.Counts)
		}
	}
}
