package sales

import "strings"

// Hidden is what orders do not show, for people who must not see it.
type Hidden struct {
	Costs  bool
	Emails bool // of customers, also if they are the sender's ids, names or references of refunds
}

// Hiding returns a store whose orders and items have no costs or no e-mail addresses of customers, and whose searches
// do not find what it hides.
func (s *Store) Hiding(h Hidden) *Store { return &Store{s.db, s.by, h} }

// hide removes what the store must not show from orders.
func (s *Store) hide(orders []StoredOrder) []StoredOrder {
	for i := range orders {
		o := &orders[i]
		if s.hidden.Costs {
			o.Cost, o.UnitsWithoutCost = 0, 0
		}
		if s.hidden.Emails {
			o.CustomerEmail = nil
			o.CustomerNumber, o.CustomerName = withoutAddress(o.CustomerNumber), withoutAddress(o.CustomerName)
		}
		for n := range o.Lines {
			s.hideLine(&o.Lines[n])
		}
		for n := range o.Refunds {
			s.hideRefund(&o.Refunds[n])
		}
	}
	return orders
}

func (s *Store) hideLine(l *Line) {
	if s.hidden.Costs {
		l.UnitCost = nil
	}
}

func (s *Store) hideRefund(r *StoredRefund) {
	if s.hidden.Emails && r.Reference != nil && strings.Contains(*r.Reference, "@") {
		r.Reference = nil
	}
}

// withoutAddress returns an empty text instead of one that may be an e-mail address.
func withoutAddress(text *string) *string {
	if text != nil && strings.Contains(*text, "@") {
		return new(string)
	}
	return text
}
