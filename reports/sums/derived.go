package sums

import "strings"

// Derived is a table of rows that pack_sums computes from sales. A row is valid unless unpacked_sums has a mark
// of its period, which each sale inserts. Reports compute marked periods themselves, and a period with neither a row nor
// a mark has no sales.
type Derived struct {
	// Rows are the valid rows p of the tenant $1 from the day {from} to {to}.
	Rows string
	// Marks selects month, the first day of each marked period from {from} to {to}, and block.
	Marks string
}

// The tables of derived rows.
var (
	PackedSums      = derived("packed_sums", "month", "p.block", "block >= 0")
	MonthlySums     = derived("monthly_sums", "month", "-1", "block = -1")
	PackedCustomers = derived("packed_customers", "day", "-2", "block = -2")
)

func derived(table, period, block, marked string) Derived {
	fill := strings.NewReplacer("{table}", table, "{period}", period, "{block}", block, "{marked}", marked)
	return Derived{Rows: fill.Replace(rowsSQL), Marks: fill.Replace(marksSQL)}
}

const rowsSQL = `
		{table} p
		 where p.tenant_id = $1
		   and p.{period} >= {from}
		   and p.{period} <= {to}
		   and not exists (
		       select
		         from unpacked_sums u
		        where u.tenant_id = $1
		          and (u.month, u.block) = (p.{period}, {block})
		          and u.month >= {from}
		          and u.month <= {to})`

const marksSQL = `
		select distinct month, block
		  from unpacked_sums
		 where tenant_id = $1
		   and month >= {from}
		   and month <= {to}
		   and {marked}`
