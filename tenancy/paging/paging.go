// Package paging describes the pages and the order of lists.
package paging

// Page selects a part of a list. Number starts at 1.
type Page struct {
	Number  int
	PerPage int
}

// Offset returns how many rows are before the page.
func (p Page) Offset() int64 { return int64(p.Number-1) * int64(p.PerPage) }

// Order sorts a list by a column. "" selects the default of the list. Rows with equal
// values are sorted by id, in the same direction.
type Order struct {
	By         string
	Descending bool
}

// Direction returns the order in SQL: asc or desc.
func (o Order) Direction() string {
	if o.Descending {
		return "desc"
	}
	return "asc"
}

// List is a page of a list. Total counts the rows of all pages.
type List[T any] struct {
	Items []T
	Total int64
}
