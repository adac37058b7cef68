package imports

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/storeroom/storeroom/api/imports/table"
)

// isSheet reports whether the columns of a file have the meanings that a user, or their names, give them.
func (s *source) isSheet() bool {
	return s.format != nil && (s.format == sheetOf(Product) || s.format == sheetOf(Order))
}

var (
	netWords   = []string{"ht", "netto", "excl", "net"}
	grossWords = []string{"ttc", "brutto", "incl", "gross"}
	taxWords   = slices.Concat(netWords, grossWords)
)

// taxIncluded returns whether the name of a column says that its amounts include tax. known is false if it does not
// say.
func taxIncluded(name string) (included, known bool) {
	for word := range strings.FieldsSeq(table.Normal(name)) {
		word = strings.Trim(word, "()")
		switch {
		case slices.Contains(grossWords, word):
			return true, true
		case slices.Contains(netWords, word):
			return false, true
		}
	}
	return false, false
}

// fieldsByName are the fields that a column of a spreadsheet may hold, by its normal name.
var fieldsByName = sync.OnceValue(func() map[string][]field {
	byName := map[string][]field{}
	for _, kind := range []Kind{Product, Order} {
		for _, c := range sheetOf(kind).description.Columns {
			for _, name := range append(slices.Clone(c.names), c.field.String()) {
				name = table.Normal(strings.ReplaceAll(name, ".", " "))
				if !slices.Contains(byName[name], c.field) {
					byName[name] = append(byName[name], c.field)
				}
			}
		}
	}
	return byName
})

// fieldsOf returns the fields that a column of that name may hold, and whether it is named as the field itself.
func fieldsOf(name string) (found []field, exact bool) {
	normal := table.Normal(name)
	words := strings.Fields(normal)
	for i, word := range words {
		if slices.Contains([]string{"nr", "no", "num", "n°", "#"}, word) {
			words[i] = "number"
		}
	}
	isAboutTax := func(word string) bool { return slices.Contains(taxWords, strings.Trim(word, "()")) }
	found = fieldsByName()[strings.Join(slices.DeleteFunc(words, isAboutTax), " ")]
	return found, len(found) > 0 && normal == table.Normal(strings.ReplaceAll(found[0].String(), ".", " "))
}

// sumNames are the names of rows with a sum, in normal form.
var sumNames = []string{"total", "totals", "grand total", "subtotal", "sum", "summe", "gesamt", "gesamtsumme", "zwischensumme",
	"somme", "sous total", "total general", "suma", "totaal", "subtotaal", "eindtotaal", "totale"}

// isSum reports whether a row of that name has the sum of the rows above it.
func isSum(name string) bool { return slices.Contains(sumNames, table.Normal(name)) }

// propose maps the columns by their names. The file is a plain spreadsheet if the mapping is complete and no name has
// two meanings. It returns 0 if the row cannot be a header.
func (s *source) propose() (score int) {
	s.Mapping, s.Examples = map[string]string{}, map[string][]string{}
	var taken [numFields]bool
	unsure, names := false, 0
	for _, step := range []func(candidates []field, exact bool) bool{
		func(_ []field, exact bool) bool { return exact },
		func(candidates []field, _ bool) bool { return len(candidates) == 1 },
		func([]field, bool) bool { return true },
	} {
		for _, column := range s.Header {
			candidates, exact := fieldsOf(column)
			if s.Mapping[column] != "" || !step(candidates, exact) {
				continue
			}
			free := slices.DeleteFunc(slices.Clone(candidates), func(f field) bool { return taken[f] && f != fOptionValue })
			unsure = unsure || len(free) > 1 || len(free) < len(candidates)
			if len(free) == 0 {
				continue
			}
			best := free[0]
			if i := slices.IndexFunc(free, isOfSaleOnly); i >= 0 && taken[fPlacedAt] {
				best = free[i] // in a file with dates, store is a channel
			}
			s.Mapping[column], taken[best] = best.String(), true
		}
	}
	for _, column := range s.Header {
		if column != "" {
			names++
		}
		if _, isNumber := (table.Form{Decimal: '.'}).Digits(column); isNumber {
			return 0
		}
	}
	if names == 0 {
		return 0
	}
	maps.DeleteFunc(s.Mapping, isEmpty)
	isShared := func(name string) bool { return !isOfSaleOnly(fieldOf(name)) }
	ofSale := slices.DeleteFunc(slices.Sorted(maps.Values(s.Mapping)), isShared)
	if len(ofSale) == 1 && (taken[fPlacedAt] || taken[fNumber]) { // created_at or another number of a product
		unsure, taken[fieldOf(ofSale[0])] = true, false
		maps.DeleteFunc(s.Mapping, func(_, name string) bool { return name == ofSale[0] })
	}
	s.reason = MappingReason(s.Mapping, strings.Clone)
	if f := sheetFormat(taken); f != nil && !unsure && len(s.Mapping) >= 3 {
		s.useMapping(f)
	}
	return 1 + names/100 + 10*len(s.Mapping)
}

func isOfSaleOnly(f field) bool {
	return slices.Contains(Fields[Order], f.String()) && !slices.Contains(Fields[Product], f.String())
}

func isEmpty(_, field string) bool { return field == "" }

// notOfProducts are fields that only sales have.
var notOfProducts = []field{fNumber, fPlacedAt, fCustomerID, fCustomerName, fRefund, fRefundedAt, fLineTotal}

// sheetFormat returns the format of a file with these fields, or nil.
func sheetFormat(has [numFields]bool) *format {
	switch lacking, other := lackingOfSheet(has); {
	case len(lacking) > 0:
		return nil
	case other != noField:
		return sheetOf(Order)
	}
	return sheetOf(Product)
}

// lackingOfSheet returns which fields a spreadsheet also needs, of which one of each list is enough. of is a field that
// only orders have, or noField for a spreadsheet of products.
func lackingOfSheet(has [numFields]bool) (lacking [][]field, of field) {
	need := func(is bool, fields ...field) {
		if !is {
			lacking = append(lacking, fields)
		}
	}
	if i := slices.IndexFunc(notOfProducts, func(f field) bool { return has[f] }); i >= 0 {
		of = notOfProducts[i]
	}
	need(of == noField || has[fNumber], fNumber)
	need(of == noField || has[fPlacedAt], fPlacedAt)
	need(has[fSKU] || has[fName], fSKU, fName)
	if of == noField {
		need(has[fPrice], fPrice)
	} else if !has[fLineTotal] {
		need(has[fPrice], fPrice, fLineTotal)
		need(has[fQuantity], fQuantity, fLineTotal)
	}
	return lacking, of
}

// MappingReason returns which fields keep a spreadsheet from being one of products or of orders, or "". label returns
// what a field is called.
func MappingReason(mapping map[string]string, label func(field string) string) string {
	var has [numFields]bool
	for _, name := range mapping {
		has[fieldOf(name)] = true
	}
	lacking, of := lackingOfSheet(has)
	var needs []string
	for _, fields := range lacking {
		var names []string
		for _, f := range fields {
			names = append(names, label(f.String()))
		}
		needs = append(needs, strings.Join(names, " or "))
	}
	switch {
	case len(needs) == 0:
		return ""
	case of == noField:
		return "products also need " + strings.Join(needs, ", and ")
	}
	return fmt.Sprintf("orders also need %s; products must not have %s", strings.Join(needs, ", and "), label(of.String()))
}

// useMapping sets the format and the columns that have a field of it. Several columns can be options of a product.
func (s *source) useMapping(f *format) {
	s.use(f, func(column string) (to target, captured string) {
		if name := s.Mapping[column]; slices.Contains(Fields[f.kind], name) {
			to.field = fieldOf(name)
		}
		if to.field == fOptionValue {
			captured = column
		}
		return to, captured
	})
}

// applyMapping uses the mapping of a user. The header is the row with its columns.
func (s *source) applyMapping(mapping map[string]string) (score int) {
	s.Mapping, s.Examples = map[string]string{}, map[string][]string{}
	var has [numFields]bool
	for _, column := range slices.Sorted(maps.Keys(mapping)) {
		if !slices.Contains(s.Header, column) {
			s.reason = fmt.Sprintf("the file has no column %q", column)
			continue
		}
		s.Mapping[column], has[fieldOf(mapping[column])] = mapping[column], true
		score++
	}
	maps.DeleteFunc(s.Mapping, isEmpty)
	switch f := sheetFormat(has); {
	case score < len(mapping):
	case len(s.Mapping) == 0:
		s.Problem = "is left out"
	case f != nil:
		s.useMapping(f)
	default:
		s.reason = MappingReason(s.Mapping, strings.Clone)
	}
	return 10*score + 1
}
