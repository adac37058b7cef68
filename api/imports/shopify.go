package imports

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Shopify's file of products has a row for each variant, with the columns of the product in the first one. Each row may
// also have an image of the product, and rows follow that hold only an image. Its columns were renamed in 2024.
var (
	shopifyProducts = &format{
		name: "shopify_products", kind: Product, order: "handle", read: readShopifyProduct,
		required: []string{"handle", "variant price", "option1 value"},
		columns: columnsOf(`handle, title, body (html), vendor, product category, type, tags, published, option1 name,
			option1 value, option2 value, option3 value, variant sku, variant barcode, gift card, status,
			google shopping / condition, image src, image position, variant image`,
			"variant price, variant compare at price, cost per item, variant inventory qty", ""),
		observe: func(s *source, c cells) { observeShopifyProduct(s, c, shopifyOld) }, ask: askMissingSKU,
	}
	shopifyProducts2024 = &format{
		name: "shopify_products", kind: Product, order: "url handle", read: readShopifyProduct,
		required: []string{"url handle", "option1 value", "price"},
		columns: columnsOf(`url handle, title, description, vendor, product category, type, tags,
			published on online store, option1 name, option1 value, option2 value, option3 value, sku, barcode, gift card,
			status, google shopping / condition, product image url, image position, variant image url`,
			"price, compare at price, cost per item, inventory quantity", ""),
		observe: func(s *source, c cells) { observeShopifyProduct(s, c, shopifyNew) }, ask: askMissingSKU,
	}
)

// shopifyNames are the columns that were renamed.
type shopifyNames struct {
	sku, barcode, price, compareAt, quantity, description, published, image, variantImage string
}

var (
	shopifyOld = shopifyNames{"variant sku", "variant barcode", "variant price", "variant compare at price",
		"variant inventory qty", "body (html)", "published", "image src", "variant image"}
	shopifyNew = shopifyNames{"sku", "barcode", "price", "compare at price", "inventory quantity", "description",
		"published on online store", "product image url", "variant image url"}
)

func (s *source) shopifyNames() shopifyNames {
	if s.order == "handle" {
		return shopifyOld
	}
	return shopifyNew
}

func observeShopifyProduct(s *source, c cells, names shopifyNames) {
	if c.text(names.price) != "" && c.text(names.sku) == "" && s.seen.missingSKU == "" {
		s.seen.missingSKU = cmp.Or(c.text("title"), c.text(s.order))
	}
}

// variantName returns the name of a variant as in orders: "Shirt - S / Red".
func variantName(title string, options ...string) string {
	var values []string
	for _, option := range options {
		if option != "" {
			values = append(values, option)
		}
	}
	if name := strings.Join(values, " / "); name != "" && name != "Default Title" {
		return title + " - " + name
	}
	return title
}

// readShopifyProduct returns a product for each variant of the rows with a handle.
func readShopifyProduct(r *reading, g group) []Record {
	first, names := g.rows[0], g.rows[0].shopifyNames()
	if g.number == "" {
		first.refuse("handle", "is required")
		return []Record{first.newRecord(Product, "")}
	}
	var records []Record
	var ofImages []changeplan.FileRow
	images := shopifyImages(g.rows, names)
	for _, c := range g.rows {
		if c.text(names.price) == "" && c.text(names.sku) == "" && len(g.rows) > 1 && c.text("option1 value") == "" {
			ofImages = append(ofImages, c.row())
			continue
		}
		name := variantName(first.text("title"), c.text("option1 value"), c.text("option2 value"), c.text("option3 value"))
		var notes []Note
		p := &catalog.PlanRow{Changes: catalog.Changes{
			SKU:         r.skuOr(c, names.sku, name),
			Name:        textField(shorten(name, 255)),
			Description: textField(first.raw(names.description)),
			Price:       c.moneyField(names.price, "price"),
			MSRP:        c.moneyField(names.compareAt, "msrp"),
			Cost:        c.moneyField("cost per item", "cost"),
			Quantity:    c.stockField(names.quantity, "quantity", &notes),
			UPC:         textField(c.text(names.barcode)),
			Tags:        splitTags(first.text("tags")),
			Status:      shopifyStatus(first, names),
			Condition:   shopifyCondition(first.text("google shopping / condition")),
		}}
		p.ImageURLs = imageURLs(append([]string{c.text(names.variantImage)}, images...), &notes)
		p.SellerName = textField(first.text("vendor"))
		p.CategoryName = textField(first.text("type"))
		if !p.CategoryName.Set {
			p.CategoryName = textField(lastPart(first.text("product category")))
		}
		if strings.EqualFold(first.text("gift card"), "true") {
			notes = append(notes, Note{Text: "is a gift card"})
		}
		records = append(records, r.product(c, p, notes))
	}
	if len(records) == 0 {
		records = []Record{{Row: changeplan.Row{Kind: Product, Key: g.number, Ignored: "has images only"}}}
	}
	records[0].Rows = append(records[0].Rows, ofImages...)
	if g.omitted > 0 {
		records[0].Invalid, records[0].Omitted = first.invalid, g.omitted
		first.refuse("handle", "has too many rows")
	}
	return records
}

// shopifyImages returns the images of a product in the sequence of their positions.
func shopifyImages(rows []cells, names shopifyNames) (images []string) {
	rows = slices.Clone(rows)
	position := func(c cells) int {
		n, err := strconv.Atoi(c.text("image position"))
		if err != nil {
			return math.MaxInt
		}
		return n
	}
	slices.SortStableFunc(rows, func(a, b cells) int { return cmp.Compare(position(a), position(b)) })
	for _, c := range rows {
		images = append(images, c.text(names.image))
	}
	return images
}

// lastPart returns the last of the parts of a category, "Shirts" of "Clothing > Shirts".
func lastPart(category string) string {
	return strings.TrimSpace(category[strings.LastIndex(category, ">")+1:])
}

func shopifyStatus(c cells, names shopifyNames) catalog.Field[string] {
	status := strings.ToLower(c.text("status"))
	published := strings.ToLower(c.text(names.published))
	switch {
	case published == "false", status != "" && status != "active":
		return catalog.Value("draft")
	case status == "" && published == "":
		return catalog.Field[string]{}
	}
	return catalog.Value("active")
}

func shopifyCondition(condition string) catalog.Field[string] {
	switch condition = strings.ToLower(condition); condition {
	case "new", "used", "refurbished":
		return catalog.Value(condition)
	}
	return catalog.Field[string]{}
}

// Shopify's file of orders has a row for each line, with the columns of the order in the first one. Refunded Amount is
// the sum of all refunds, without a date.
var shopifyOrders = &format{
	name: "shopify_orders", kind: Order, order: "name", begin: "financial status", items: true, read: readShopifyOrder,
	required: []string{"name", "financial status", "lineitem quantity", "lineitem price"},
	columns: columnsOf(`name, email, financial status, currency, lineitem name, lineitem sku, lineitem requires shipping,
		lineitem taxable, billing name, shipping name, source`,
		`subtotal, shipping, taxes, total, discount amount, lineitem quantity, lineitem price, lineitem discount,
		refunded amount, duties`,
		"paid at, fulfilled at, created at, cancelled at, canceled at"),
}

func readShopifyOrder(r *reading, g group) []Record {
	if g.number == "" {
		c := g.rows[0]
		c.refuse("number", "is required")
		return []Record{c.newRecord(Order, "")}
	}
	b := r.newOrder(g)
	c := b.cells(g.rows[0])
	status := strings.ToLower(c.text("financial status"))
	b.Order.PlacedAt = c.time("created at", "placed_at")
	if b.Order.PlacedAt.IsZero() {
		c.refuse("placed_at", "is required")
	}
	b.channel(shopifyChannel(c.text("source")), "shopify")
	b.currency(c.text("currency"))
	b.customer("", c.first("billing name", "shipping name"), c.text("email"))
	var tips int64
	for i, row := range g.rows {
		tips += b.shopifyLine(i, b.itemCells(row))
	}
	if tips > 0 {
		b.note("the tip is not part of the sale", tips)
	}
	for column, name := range map[string]string{"subtotal": "Subtotal", "shipping": "Shipping", "taxes": "Taxes",
		"total": "Total", "discount amount": "Discount Amount", "refunded amount": "Refunded Amount", "duties": "Duties"} {
		b.Theirs[name] = c.cents(column, column)
	}
	t := b.Theirs
	if b.value-t["Subtotal"] != t["Discount Amount"] && len(b.Invalid) == 0 {
		b.note("Discount Amount is not the difference of items and Subtotal", t["Discount Amount"]-b.value+t["Subtotal"])
	}
	tax := t["Taxes"] + t["Duties"]
	added := t["Total"] - tips - t["Subtotal"] - t["Shipping"] // tax and duties that prices do not include
	if included := tax - added; included > 0 && (added == 0 || added == t["Duties"]) {
		b.note("prices include tax: revenue is Subtotal without Taxes", included)
		b.excludeTax(t["Subtotal"], included, t["Shipping"], "Subtotal")
		*b.Order.TaxTotal += money.Cents(added)
	} else {
		b.check(t["Total"]-tips, t["Subtotal"], tax, t["Shipping"], "Total")
		b.settle(t["Subtotal"], "Subtotal")
		b.charge(tax, t["Shipping"])
	}
	if status == "pending" || status == "authorized" {
		b.note("the order is not paid yet: "+status, 0)
	}
	return b.withRefunds(c, status)
}

// shopifyLine adds a line of an order. It returns a tip instead, because tips are not part of Subtotal.
func (b *builder) shopifyLine(row int, c cells) (tip int64) {
	name, sku := c.text("lineitem name"), c.text("lineitem sku")
	quantity, ok := c.integer("lineitem quantity", "quantity")
	price := c.cents("lineitem price", "unit_price")
	switch {
	case ok && quantity == 0:
		b.emptyLine()
		return 0
	case !ok:
		c.refuse("quantity", "is required")
	}
	if name == "Tip" && sku == "" && strings.EqualFold(c.text("lineitem requires shipping"), "false") &&
		strings.EqualFold(c.text("lineitem taxable"), "false") {
		return times(quantity, price)
	}
	discount := c.cents("lineitem discount", "discount")
	b.item(row, cmp.Or(sku, derivedSKU(name)), quantity, price, discount)
	return 0
}

func shopifyChannel(source string) string {
	switch {
	case source == "", source == "web":
		return "shopify"
	case source == "shopify_draft_order":
		return "draft"
	case strings.Trim(source, "0123456789") == "":
		return "app-" + source
	}
	return source
}

// withRefunds returns the order with its refund and its cancellation.
func (b *builder) withRefunds(c cells, status string) []Record {
	cancelled := c.time("cancelled at", "cancelled_at")
	if cancelled.IsZero() {
		cancelled = c.time("canceled at", "cancelled_at")
	}
	last := cancelled
	for _, column := range []string{"fulfilled at", "paid at", "created at"} {
		if at := c.time(column, "refunded_at"); cancelled.IsZero() && at.After(last) {
			last = at
		}
	}
	var more []Record
	if amount := b.Theirs["Refunded Amount"]; amount > 0 {
		b.note("the date of the refund is the last known date of the order", 0)
		more = append(more, b.refund("shopify:", amount, last, "Refunded Amount"))
	}
	if !cancelled.IsZero() || status == "voided" || status == "expired" {
		more = append(more, b.cancellation(last, tenancy.InvalidError{}))
	}
	delete(b.Theirs, "Refunded Amount")
	return append([]Record{b.Record}, more...)
}
