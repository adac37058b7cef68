package imports

import (
	"slices"
	"strings"

	"github.com/storeroom/storeroom/api/imports/table"
)

// headerTax returns whether the names of the columns with prices say that they include tax.
func (s *source) headerTax() (included, known bool) {
	for _, f := range []field{fPrice, fLineTotal} {
		for _, c := range s.columns[f] {
			if included, known := taxIncluded(s.Header[c.at]); known {
				return included, true
			}
		}
	}
	return false, false
}

func (s *source) taxIncluded(settings Settings) bool {
	if settings.TaxIncluded != "" {
		return settings.TaxIncluded == "yes"
	}
	included, _ := s.headerTax()
	return included
}

// ofOrder are the amounts that each row of an order may repeat.
var ofOrder = []field{fDiscountAll, fTax, fShipping, fRefund}

const (
	maxStatuses = 50  // that are asked about
	maxStatus   = 100 // bytes of such a status
	maxReading  = 300 // characters of an example or a reading
)

// observeSale records returns, statuses that are not known, and which amounts of orders differ between the rows of one
// and so belong to the row.
func observeSale(s *source, c, _ cells) {
	for _, column := range c.columns[fStatus] {
		status := statusWord(plainText(c.cells[column.at]))
		if status == "" || s.outcomeOf(status, Settings{}) != "" {
			continue
		}
		isAsked := len(s.seen.statuses) < maxStatuses && len(status) <= maxStatus && clean(status) == status
		if isAsked && !slices.Contains(s.seen.statuses, status) {
			s.seen.statuses = append(s.seen.statuses, strings.Clone(status))
		}
		if slices.Contains(s.seen.statuses, status) {
			s.seen.rows.mark(statusKey+status, status)
		}
	}
	if !s.mayReturn() {
		return
	}
	if !s.isPlainSale() {
		if _, known := c.word(fEvent); c.isReturn() || !known && table.IsNegative(c.text(fQuantity)) {
			s.seen.returned(saleKey(c))
			s.seen.rows.mark("refunds", strings.TrimSpace(c.text(fPlacedAt)+" "+c.text(fName)))
		}
		return
	}
	same := s.seen.previous[fNumber] == c.text(fNumber)
	if table.IsNegative(c.text(fQuantity)) || table.IsNegative(c.text(fLineTotal)) {
		s.seen.returned(saleKey(c))
		if !same { // a return below its order is one of it
			s.seen.rows.mark("refunds", c.first(fNumber, fSKU, fName))
		}
		return
	}
	for _, f := range ofOrder {
		cell := withoutZeros(c.text(f))
		if same && cell == "" {
			continue // a later row can have another amount than the one before
		}
		if same && s.seen.previous[f] != "" && cell != s.seen.previous[f] {
			s.seen.perLine[f] = true
		}
		s.seen.previous[f] = cell
	}
	s.seen.previous[fNumber] = c.text(fNumber)
	s.observeLine(c, same)
}

// observeLine records what a tax, a discount and a cost of a spreadsheet can be.
func (s *source) observeLine(c cells, same bool) {
	value := c.text(fQuantity) + "\x00" + c.first(fPrice, fLineTotal)
	if tax := c.text(fTax); strings.Trim(tax, "0.,") != "" {
		s.seen.rows.mark("tax_included", tax)
		if same && withoutZeros(tax) == s.seen.previous[fTax] {
			s.seen.rows.mark("tax", tax)
			s.seen.sameTax[boolOrder(value == s.seen.previous[fPrice])] = true
		}
	}
	s.seen.previous[fPrice] = value
	if quantity, _ := (table.Form{Decimal: '.'}).Digits(c.text(fQuantity)); quantity != "1" && quantity != "" {
		s.seen.rows.mark("cost", quantity)
	}
	discount, _ := (table.Form{Decimal: '.'}).Digits(strings.Replace(c.text(fDiscount), ",", ".", 1))
	if strings.Trim(discount, "-0.") == "" {
		return
	}
	s.seen.rows.mark("discount", discount)
	s.seen.fractions[boolOrder(!strings.HasPrefix(strings.TrimPrefix(discount, "-"), "0."))] = true
	if c.text(fPrice) == "" {
		s.seen.rows.mark("total", discount)
	}
}

// withoutZeros removes the zeros of a fraction of up to two digits: 5.00, 5,0 and 5 are equal.
func withoutZeros(amount string) string {
	at := strings.LastIndexAny(amount, ".,")
	if at < 0 || len(amount)-at > 3 {
		return amount
	}
	return strings.TrimRight(strings.TrimRight(amount, "0"), ".,")
}

// askSale returns the questions about a file of orders: what its statuses mean, whether prices include tax unless the
// names of columns say so, and what to do with returns that name neither an order nor a customer.
func (s *source) askSale() (questions []Question) {
	for _, status := range s.seen.statuses {
		questions = append(questions, Question{
			ID: "statuses", Column: s.Header[s.columns[fStatus][0].at], Examples: []string{status},
		})
	}
	if _, known := s.headerTax(); s.isPlainSale() && len(s.columns[fTax]) > 0 && !known {
		questions = append(questions, Question{ID: "tax_included"})
	}
	questions = append(questions, s.askLines()...)
	hasCustomer := slices.ContainsFunc(ofCustomer, func(f field) bool { return len(s.columns[f]) > 0 })
	if s.isPlainSale() && hasCustomer {
		return questions
	}
	return append(questions, s.asked("refunds")...)
}

// askLines returns the questions about the amounts of lines of a spreadsheet: whether a cost is of a unit, a discount a
// part of the price, a total before it, and a tax of the row.
func (s *source) askLines() (questions []Question) {
	if !s.isPlainSale() {
		return nil
	}
	for _, q := range []struct {
		id       string
		f        field
		isUnsure bool
	}{
		{"cost", fCost, s.asked("cost") != nil && s.isCostOfGoods()},
		{"discount", fDiscount, s.seen.fractions == [2]bool{true, false}},
		{"total", fLineTotal, s.asked("total") != nil},
		{"tax", fTax, s.seen.sameTax == [2]bool{false, true} && !s.seen.perLine[fTax]},
	} {
		if q.isUnsure && len(s.columns[q.f]) > 0 {
			column := s.Header[s.columns[q.f][0].at]
			questions = append(questions, Question{ID: q.id, Column: column, Examples: s.Examples[column]})
		}
	}
	return questions
}

// isCostOfGoods reports whether the column of costs is named as the cost of all units that were sold.
func (s *source) isCostOfGoods() bool {
	for _, c := range s.columns[fCost] {
		for _, word := range []string{"cogs", "goods", "total"} {
			if strings.Contains(table.Normal(s.Header[c.at]), word) {
				return true
			}
		}
	}
	return false
}
