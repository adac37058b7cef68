package tenancy

// Kept is a row of an import that an undo did not undo.
type Kept struct {
	Key    string `json:"key"`    // the SKU, name or number
	Reason string `json:"reason"` // a sentence without a subject: "has changed since"
}
