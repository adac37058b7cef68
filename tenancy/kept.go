package tenancy

// Kept is a row of a change plan that was not applied or not undone.
type Kept struct {
	Key    string `json:"key"`    // the SKU, name or number
	Reason string `json:"reason"` // a sentence without a subject: "has changed since"
	// ID and Fields are set for a product that a plan changes by field.
	ID     int64    `json:"id,omitempty"`
	Fields []string `json:"fields,omitempty"` // that something else has changed
}
