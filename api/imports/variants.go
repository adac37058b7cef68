package imports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
)

// variant is a row of a product, with the row whose cells it has where its own are empty.
type variant struct {
	cells
	of *cells // may be nil
}

// having returns the row that has a field of the variant.
func (v variant) having(f field) cells {
	if v.of != nil && v.cells.text(f) == "" && slices.Contains(v.description.Products.Inherit, f) {
		return *v.of
	}
	return v.cells
}

// readProducts returns a product for each variant of a group of rows.
func readProducts(r *reading, g group) []Record {
	first := g.rows[0]
	rules := &first.description.Products
	if rules.Grouped && g.number == "" {
		first.refuse(strings.ToLower(first.columnName(fGroup)), "is required")
		return []Record{first.newRecord(Product, "")}
	}
	of := parentOf(g.rows)
	var images []string
	if rules.Grouped {
		images = imagesByPosition(g.rows)
	}
	var records []Record
	var ofImages []changeplan.FileRow
	for i := range g.rows {
		c := g.rows[i]
		switch {
		case isParent(g.rows, i):
			records = append(records, c.ignored(Product, c.text(fSKU), "has variations, which are the products")...)
		case c.rowType() == "ignored":
			records = append(records, c.ignored(Product, c.text(fSKU), "is not a product")...)
		case c.pricesOther(g.rows):
			records = append(records, c.ignored(Product, c.text(fSKU), "is a price in another currency")...)
		case len(g.rows) > 1 && rules.Grouped && c.hasImageOnly():
			ofImages = append(ofImages, c.row())
		case c.isSum():
			records = append(records, c.ignored(Product, "", "is a sum")...)
		case c.first(fSKU, fName) == "" && !rules.Grouped:
			records = append(records, c.ignored(Product, "", "has neither SKU nor name")...)
		default:
			records = append(records, r.readVariant(variant{c, of}, g.number, images))
		}
	}
	if len(records) == 0 {
		records = []Record{{Row: changeplan.Row{Kind: Product, Key: g.number, Ignored: "has images only"}}}
	}
	records[0].Rows = append(records[0].Rows, ofImages...)
	if g.omitted > 0 {
		records[0].Invalid, records[0].Omitted = first.invalid, g.omitted
		first.refuse("sku", "is that of too many rows")
	}
	return records
}

// rowType returns what a row is: product, parent, variants or ignored.
func (c cells) rowType() string {
	if c.text(fNotProduct) != "" || c.text(fLocale) != c.seen.locale {
		return "ignored"
	}
	for word := range strings.SplitSeq(c.text(fType), ",") {
		if meaning := c.description.Values[fType][strings.ToLower(strings.TrimSpace(word))]; meaning != "" {
			return meaning
		}
	}
	return "product"
}

// isParent reports whether a row of a product is not sold, because others of its rows are its variants.
func isParent(rows []cells, i int) bool {
	isProduct := func(c cells) bool { return c.rowType() == "product" }
	hasOptions := func(c cells) bool { return len(variant{c, nil}.options()) > 0 }
	switch rows[i].rowType() {
	case "parent":
		return true
	case "variants":
		return slices.ContainsFunc(rows, isProduct)
	}
	return rows[i].description.Products.ParentFirst && !hasOptions(rows[i]) && parentOf(rows) == &rows[i] &&
		slices.ContainsFunc(rows, hasOptions)
}

// isSum reports whether a row has only the sums of the rows above it.
func (c cells) isSum() bool {
	sku, name := c.text(fSKU), c.text(fName)
	return (sku == "") != (name == "") && isSum(sku+name)
}

// pricesOther reports whether a row has only the price in another currency of a product that the group has in ours.
func (c cells) pricesOther(rows []cells) bool {
	return c.isOtherCurrency() && slices.ContainsFunc(rows, func(other cells) bool {
		return other.text(fSKU) == c.text(fSKU) && !other.isOtherCurrency()
	})
}

func (c cells) hasImageOnly() bool {
	return c.text(fPrice) == "" && c.text(fSKU) == "" && c.text(fOptionValue) == ""
}

// parentOf returns the row of a product from which its variants inherit, or nil.
func parentOf(rows []cells) *cells {
	rules := &rows[0].description.Products
	switch {
	case rules.Grouped:
		return &rows[0]
	case rules.ByParent:
		if i := slices.IndexFunc(rows, func(c cells) bool { return c.text(fParent) == "" }); i >= 0 {
			return &rows[i]
		}
	}
	return nil
}

// readVariant returns the record of a product.
func (r *reading) readVariant(v variant, group string, images []string) Record {
	c := v.cells
	var notes []Note
	name := v.name()
	p := &catalog.PlanRow{Changes: catalog.Changes{
		SKU:          textField(r.skuOf(v, name, group)),
		Name:         textField(name),
		Description:  textField(v.lines(v.having(fDescription).raw(fDescription))),
		MSRP:         c.moneyField(fMSRP, "msrp"),
		Cost:         c.moneyField(fCost, "cost"),
		Status:       v.status(),
		Condition:    v.condition(),
		ReorderPoint: c.stockField(c.at(fReorderPoint), "reorder_point", &notes),
		BinLocation:  textField(c.text(fBin)),
		UPC:          textField(c.text(fUPC)),
		Tags:         splitTags(v.having(fTags).text(fTags), cmp.Or(v.description.Products.TagSeparator, ",")),
	}}
	if p.MSRP.Value == 0 {
		p.MSRP = catalog.Field[money.Cents]{} // some systems write 0 for none
	}
	v.setPrice(r, p, &notes)
	v.setStock(p, &notes)
	p.CategoryName = textField(v.category())
	p.SellerName = textField(v.having(fSeller).text(fSeller))
	own := []string{c.text(fVariantImage)}
	if images == nil {
		for _, column := range c.columns[fImages] {
			own = append(own, splitImages(v.unescape(strings.TrimSpace(c.cells[column.at])))...)
		}
	}
	p.ImageURLs = imageURLs(append(own, images...), &notes)
	c.checkCurrency()
	if v.having(fGiftCard).isYes(fGiftCard) {
		notes = append(notes, Note{Text: "is a gift card"})
	}
	notes = append(notes, r.checkBarcode(c, &p.Changes)...)
	record := c.newRecord(Product, p.SKU.Value)
	record.Product, record.Notes = p, notes
	if v.description.Products.StockOnly {
		record.stockOnly()
	}
	return record
}

// stockOnly makes a product a record of its stock.
func (r *Record) stockOnly() {
	p := r.Product
	r.Product = &catalog.PlanRow{Changes: catalog.Changes{SKU: p.SKU, Quantity: p.Quantity}, Stock: p.Stock}
	if p.Quantity.Set && p.WarehouseName.Set {
		r.Product.Stock = []catalog.StockOf{{Warehouse: p.WarehouseName.Value, Quantity: p.Quantity.Value}}
		r.Product.Quantity = catalog.Field[int64]{}
	}
	if !r.Product.Quantity.Set {
		r.Kind = Stock
	}
	if !p.Quantity.Set && len(p.Stock) == 0 && len(r.Invalid) == 0 {
		*r = Record{Row: changeplan.Row{Kind: Product, Key: r.Key, Rows: r.Rows, Ignored: "has no stock"}}
	}
}

// options returns the values of a variant's options: Small and Blue.
func (v variant) options() (values []string) {
	rules := &v.description.Products
	add := func(value string) {
		if !v.description.Names.isWhole(value) {
			values = append(values, value)
		}
	}
	for _, column := range v.columns[fOptionValue] {
		cell := withoutApostrophe(strings.TrimSpace(v.cells.cells[column.at]), "=+-@")
		if rules.Option == nil {
			add(cell)
			continue
		}
		for _, match := range rules.Option.FindAllStringSubmatch(cell, -1) {
			add(strings.TrimSpace(match[1]))
		}
	}
	if len(values) == 0 {
		add(v.text(fVariation))
	}
	return values
}

// name returns the name of a variant as in orders: "Shirt - S / Red".
func (v variant) name() string {
	return v.description.Names.name(v.having(fName).text(fName), v.options()...)
}

// status returns the status of a product: draft if any of its columns, or those of what it inherits from, says so.
func (v variant) status() catalog.Field[string] {
	result := v.description.Products.DefaultStatus
	for i, f := range []field{fStatus, fPublished, fArchived} {
		rows := []cells{v.cells}
		if v.of != nil && slices.Contains(v.description.Products.Inherit, f) {
			rows = append(rows, *v.of)
		}
		for _, c := range rows {
			word := c.text(f)
			status, known := c.word(f)
			if !known {
				status = statusOf(word)
			}
			switch {
			case word == "" && (!known || c.at(f) < 0):
			case status == "":
				return catalog.Value(word) // the catalog refuses it
			case (status == "draft") != (i == 2):
				return catalog.Value("draft")
			default:
				result = "active"
			}
		}
	}
	return textField(result)
}

func (v variant) condition() catalog.Field[string] {
	c := v.having(fCondition)
	if condition, known := c.word(fCondition); known {
		return textField(condition)
	}
	return textField(strings.ReplaceAll(table.Normal(c.text(fCondition)), " ", "_"))
}

// setPrice sets the price, which is the lowest of several.
func (v variant) setPrice(r *reading, p *catalog.PlanRow, notes *[]Note) {
	if meaning, known := v.word(fPrice); known && meaning == "none" {
		*notes = append(*notes, Note{Text: fmt.Sprintf("has a %s price, which was not imported", v.text(fPrice))})
		return
	}
	price := fPrice
	if v.having(fPriceTaxed).has(fPriceTaxed) && (r.settings.TaxIncluded == "yes" || !v.having(fPrice).has(fPrice)) {
		price = fPriceTaxed
	}
	p.Price = v.having(price).in(v.invalid, v.path).moneyField(price, "price")
	if added := v.cents(fPriceAdded, "price"); p.Price.Set {
		if added != 0 && price == fPriceTaxed {
			v.refuse("price", "cannot be known: %s is without tax, and the price of the product with tax", v.text(fPriceAdded))
		}
		p.Price.Value += money.Cents(added)
	}
	v.reduce(r, p, v.reduced(p.Price.Value), notes)
	if sale := v.moneyField(fSalePrice, "sale_price"); sale.Value > 0 && (!v.has(fOnSale) || v.isYes(fOnSale)) {
		v.reduce(r, p, sale, notes) // some systems write 0 for none
	}
}

// reduce sets a lower price, if it counts today. The price before is the recommended one, if there is no other.
func (v variant) reduce(r *reading, p *catalog.PlanRow, to catalog.Field[money.Cents], notes *[]Note) {
	if !to.Set || p.Price.Set && to.Value >= p.Price.Value {
		return
	}
	if problem := v.offSale(r.now); problem != "" {
		*notes = append(*notes, Note{Text: problem})
		return
	}
	if !p.MSRP.Set {
		p.MSRP = p.Price
	}
	p.Price = to
}

// offSale returns why a lower price does not count now, or "".
func (v variant) offSale(now time.Time) string {
	begin, end := v.having(fSaleFrom).text(fSaleFrom), v.having(fSaleUntil).text(fSaleUntil)
	if from, until, isInterval := strings.Cut(begin, "/"); isInterval && !strings.Contains(until, "/") {
		begin, end = strings.TrimSpace(from), strings.TrimSpace(until)
	}
	from := v.readTime(v.having(fSaleFrom).form(fSaleFrom), begin, "sale_from")
	until := v.readTime(v.having(fSaleUntil).form(fSaleUntil), end, "sale_until")
	isLastDay := table.WithoutClock(end) == end && tenancy.DayOf(now, v.zone).Equal(tenancy.DayOf(until, v.zone))
	switch {
	case now.Before(from):
		return "the sale price has not begun and was not imported"
	case !until.IsZero() && now.After(until) && !isLastDay:
		return "the sale price has ended and was not imported"
	}
	return ""
}

// reduced returns the price after a reduction, if the product has one.
func (v variant) reduced(price money.Cents) (reduced catalog.Field[money.Cents]) {
	c := v.having(fReduction).in(v.invalid, v.path)
	by := c.cents(fReduction, "price")
	switch {
	case by == 0 || price == 0:
		return reduced
	case strings.EqualFold(c.text(fReductionBy), "percent"):
		rest := decimal.NewFromInt(100_00 - by).Shift(-4)
		return catalog.Value(money.Cents(decimal.NewFromInt(int64(price)).Mul(rest).Round(0).IntPart()))
	}
	return catalog.Value(max(0, price-money.Cents(by)))
}

// setStock sets the stock, in total or in places.
func (v variant) setStock(p *catalog.PlanRow, notes *[]Note) {
	c := v.cells
	meaning, known := c.word(fQuantity)
	switch {
	case c.has(fTracked) && (c.text(fTracked) == "" || c.isNo(fTracked)):
		return
	case !known:
		p.Quantity = c.stockField(c.at(fQuantity), "quantity", notes)
	case meaning == "inherit" && v.of != nil:
		p.Quantity = v.of.in(c.invalid, c.path).stockField(c.at(fQuantity), "quantity", notes)
		*notes = append(*notes, Note{Text: "shares the stock of its parent"})
	case meaning == "0":
		p.Quantity = catalog.Value[int64](0)
	}
	p.WarehouseName = textField(c.text(fWarehouse))
	if p.WarehouseName.Set && p.Quantity.Set && c.seen.skus.inPlaces(p.SKU.Value) {
		p.Stock = append(p.Stock, catalog.StockOf{Warehouse: p.WarehouseName.Value, Quantity: p.Quantity.Value})
		p.WarehouseName, p.Quantity = catalog.Field[string]{}, catalog.Field[int64]{}
	}
	for _, column := range c.columns[fStock] {
		if _, known := c.description.Values[fQuantity][strings.ToLower(c.cells[column.at])]; known {
			continue
		}
		if quantity := c.stockField(column.at, "quantity", notes); quantity.Set {
			p.Stock = append(p.Stock, catalog.StockOf{Warehouse: column.captured, Quantity: quantity.Value})
		}
	}
}

// unescape returns a list in which \, is a comma of an element.
func (v variant) unescape(list string) string {
	if v.description.Products.Escape {
		return strings.ReplaceAll(list, `\,`, ",")
	}
	return list
}

// lines returns a text in which \n is a line break and \\n is \n.
func (v variant) lines(text string) string {
	if v.description.Products.Escape {
		return strings.NewReplacer(`\\n`, `\n`, `\n`, "\n").Replace(text)
	}
	return text
}

// category returns the category of a product, with all parts of its path.
func (v variant) category() string {
	rules, category := &v.description.Products, v.having(fCategory).text(fCategory)
	if rules.Category != nil {
		if match := rules.Category.FindStringSubmatch(category); match != nil {
			category = match[1]
		}
	}
	parts := strings.Split(v.unescape(category), cmp.Or(rules.CategoryPath, ">"))
	for i, part := range parts {
		parts[i] = strings.TrimSpace(part)
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " > ")
}

// imagesByPosition returns the images of a product in the sequence of their positions.
func imagesByPosition(rows []cells) (images []string) {
	rows = slices.Clone(rows)
	position := func(c cells) int {
		n, err := strconv.Atoi(c.text(fPosition))
		if err != nil {
			return math.MaxInt
		}
		return n
	}
	slices.SortStableFunc(rows, func(a, b cells) int { return cmp.Compare(position(a), position(b)) })
	images = []string{}
	for _, c := range rows {
		images = append(images, splitImages(c.text(fImages))...)
	}
	return images
}

// skuEvidence has the SKUs of a file, and which rows of it have the same.
type skuEvidence struct {
	seed     maphash.Seed
	contents map[uint64]uint64 // the hash of a row by the hash of its SKU, or of its SKU and place
	repeated map[uint64]bool   // SKUs of rows that differ
	placed   map[uint64]bool   // SKUs of rows that differ in their place
}

// add adds a row, and reports whether an earlier one with the same SKU differs.
func (e *skuEvidence) add(v variant, sku string) (differs bool) {
	if e.contents == nil {
		e.seed, e.contents = maphash.MakeSeed(), map[uint64]uint64{}
		e.repeated, e.placed = map[uint64]bool{}, map[uint64]bool{}
	}
	key, place := maphash.String(e.seed, sku), v.text(fWarehouse)
	content := func(ofPlace bool) uint64 {
		var hash maphash.Hash
		hash.SetSeed(e.seed)
		if v.description.Products.StockOnly && !ofPlace {
			return hash.Sum64()
		}
		for i, cell := range v.cells.cells {
			if isOf := place != "" && (i == v.at(fWarehouse) || i == v.at(fQuantity) || i == v.at(fBin)); isOf == ofPlace {
				_, _ = hash.WriteString(strings.TrimSpace(cell)) // no error
				_ = hash.WriteByte(0)
			}
		}
		return hash.Sum64()
	}
	_, exists := e.contents[key]
	differs = e.set(key, content(false))
	if place != "" && !differs {
		ofPlace := maphash.String(e.seed, sku+"\x00"+place)
		if _, known := e.contents[ofPlace]; exists && !known {
			e.placed[key] = true
		}
		differs = e.set(ofPlace, content(true))
	}
	if differs {
		e.repeated[key] = true
	}
	return differs
}

// set stores the content of a key, and reports whether it had another one.
func (e *skuEvidence) set(key, content uint64) (differs bool) {
	earlier, exists := e.contents[key]
	if !exists && len(e.contents) < maxOrderIDs {
		e.contents[key] = content
	}
	return exists && earlier != content
}

func (e *skuEvidence) isRepeated(sku string) bool {
	return len(e.repeated) > 0 && e.repeated[maphash.String(e.seed, sku)]
}

func (e *skuEvidence) inPlaces(sku string) bool {
	return len(e.placed) > 0 && e.placed[maphash.String(e.seed, sku)]
}

// observeProduct records products without a SKU of their own.
func observeProduct(s *source, c, next cells) {
	v := variant{cells: c}
	if s.seen.locale == "" {
		s.seen.locale = strings.Clone(c.text(fLocale))
	}
	if s.description.Products.Grouped {
		if s.seen.first.source == nil || s.seen.first.text(fGroup) != c.text(fGroup) {
			s.seen.first = c
		}
		v.of = &s.seen.first
	}
	rows := append(make([]cells, 0, 2), c)
	if s.isGrouped() && next.source != nil && s.orderKey(c.cells) == s.orderKey(next.cells) {
		rows = append(rows, next)
	}
	if isParent(rows, 0) || c.rowType() == "ignored" || c.isOtherCurrency() || c.isSum() ||
		s.description.Products.Grouped && c.hasImageOnly() {
		return
	}
	if c.has(fPriceTaxed) {
		s.seen.rows.mark("tax_included", c.text(fPriceTaxed))
	}
	sku := c.text(fSKU)
	if s.description.Products.SKUList {
		sku, _, _ = strings.Cut(sku, ",")
	}
	if sku != "" {
		if s.seen.skus.add(v, sku) {
			s.seen.rows.mark("repeated_sku", sku)
		}
		return
	}
	if name := cmp.Or(v.name(), c.text(fGroup)); name != "" {
		s.seen.rows.mark("missing_sku", name)
		s.seen.skus.add(v, derivedSKU(name))
	}
}

// askProduct returns the questions about products without a SKU, and about those with the same.
func (s *source) askProduct() (questions []Question) {
	questions = s.asked("missing_sku")
	if len(s.columns[fPriceTaxed]) > 0 && len(s.columns[fPrice]) > 0 {
		questions = append(questions, Question{ID: "tax_included"})
	}
	return append(questions, s.asked("repeated_sku")...)
}

// skuOf returns the SKU of a variant. If the settings say so, it is the name where there is none, and the SKU with what
// differs where several rows have the same.
func (r *reading) skuOf(v variant, name, group string) string {
	sku := v.code(fSKU, "sku")
	if v.description.Products.SKUList {
		skus := strings.FieldsFunc(sku, func(char rune) bool { return char == ',' })
		if slices.SortFunc(skus, strings.Compare); len(slices.Compact(skus)) > 1 {
			v.refuse("sku", "is that of several variants, of which the file has no rows")
		}
		sku, _, _ = strings.Cut(sku, ",")
	}
	switch {
	case sku == "" && r.settings.MissingSKU == "derive":
		if options := v.options(); len(options) > 0 && v.description.Names.Before == "" {
			group = strings.Join(options, " / ") // which the name has otherwise
		}
		if sku = derivedSKU(name); v.seen.skus.isRepeated(sku) && group != "" {
			sku = derivedSKU(fmt.Sprintf("%s (%s)", name, group))
		}
	case sku == "" || !v.seen.skus.isRepeated(sku):
	case r.settings.RepeatedSKU == "derive":
		if options := v.options(); len(options) > 0 {
			name = strings.Join(options, " / ")
		}
		if name == "" {
			v.refuse("sku", "is that of several rows that differ, and this one has no name")
		}
		sku = derivedSKU(sku + " - " + name)
	case r.settings.RepeatedSKU == "refuse":
		v.refuse("sku", "is that of several rows that differ")
	}
	if sku == "" {
		v.refuse("sku", "is required")
	}
	return sku
}

// readProduct is a product that was read.
type readProduct struct {
	content uint64 // the hash of what the product gets
	source  *source
}

// checkRepeatedSKU adds a note to a product that replaces other values of an earlier row with the same SKU, or refuses
// it if nobody has decided that.
func (r *reading) checkRepeatedSKU(s *source, record *Record) {
	isAlone := len(r.sources) == 1 && len(s.seen.skus.repeated) == 0
	if isAlone || record.Product == nil || record.Product.SKU.Value == "" || len(record.Invalid) > 0 {
		return
	}
	content, _ := json.Marshal(record.Product) // has no values that cannot be encoded
	sku, hash := maphash.String(r.seed, strings.TrimSpace(record.Product.SKU.Value)), maphash.Bytes(r.seed, content)
	earlier, exists := r.products[sku]
	switch {
	case !exists || earlier.content == hash || s.seen.skus.inPlaces(record.Product.SKU.Value):
	case record.Kind == Stock:
	case earlier.source == s && r.settings.RepeatedSKU != "last":
		record.Invalid.Add("sku", "is that of an earlier row, which differs")
		return
	default:
		record.Notes = append(record.Notes, Note{Text: "replaces the values of an earlier row with the same SKU"})
	}
	if exists || len(r.products) < maxOrderIDs {
		r.products[sku] = readProduct{hash, s}
	}
}
