package tenancy

// Difference is a stored figure that differs from the rows it is derived from.
type Difference struct {
	What   string `json:"what"`   // "rollup of day 2026-03-01, channel pos", "order 1017" or "stock of product 17"
	Figure string `json:"figure"` // "revenue" or "sum of warehouses"
	Stored string `json:"stored"`
	Facts  string `json:"facts"`
}
