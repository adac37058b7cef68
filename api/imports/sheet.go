package imports

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/tenancy"
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
	var f *format
	if f, s.reason = sheetFormat(taken); f != nil && !unsure && len(s.Mapping) >= 3 {
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

// sheetFormat returns the format of a file with these fields, or nil and why it has none.
func sheetFormat(has [numFields]bool) (f *format, reason string) {
	isItem := has[fSKU] || has[fName]
	i := slices.IndexFunc(notOfProducts, func(f field) bool { return has[f] })
	switch {
	case has[fNumber] && has[fPlacedAt] && isItem && (has[fPrice] && has[fQuantity] || has[fLineTotal]):
		return sheetOf(Order), ""
	case isItem && has[fPrice] && i < 0:
		return sheetOf(Product), ""
	case i < 0:
		return nil, "products need price, and sku or name"
	}
	return nil, fmt.Sprintf("orders need number, placed_at, sku or name, and price with quantity or line_total; "+
		"products must not have %s", notOfProducts[i])
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
func (s *source) applyMapping(mapping map[string]string) (score int, err error) {
	s.Mapping, s.Examples = map[string]string{}, map[string][]string{}
	var has [numFields]bool
	for column, name := range mapping {
		if name != "" && !slices.Contains(Fields[Product], name) && !slices.Contains(Fields[Order], name) {
			return 0, tenancy.InvalidError{"mapping": {"has the unknown field " + name}}
		}
		if slices.Contains(s.Header, column) {
			s.Mapping[column], has[fieldOf(name)] = name, true
			score++
		}
	}
	maps.DeleteFunc(s.Mapping, isEmpty)
	var f *format
	switch f, s.reason = sheetFormat(has); {
	case len(s.Mapping) == 0 && score == len(mapping):
		s.Problem = "is left out"
	case f != nil && score == len(mapping):
		s.useMapping(f)
	}
	return 10*score + 1, nil
}
