package imports

import (
	"strings"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/export"
)

// ownReference reads a row of categories, sellers or warehouses, and remembers its id.
func ownReference(r *reading, g group) []Record {
	c := g.rows[0]
	record, id := c.reference()
	ids := r.nameByID[c.kind]
	if ids == nil {
		ids = map[string]string{}
		r.nameByID[c.kind] = ids
	}
	_, exists := ids[id]
	switch {
	case len(ids) == maxReferences:
		c.refuse("id", "is not read: the file has more than %d ids", maxReferences)
	case id == "":
		c.refuse("id", "is required")
	case exists:
		c.refuse("id", "%q is a duplicate", id)
	}
	if len(c.invalid) == 0 {
		ids[id] = record.Name
	}
	return []Record{record}
}

// reference returns a record without a key, and the id of a row of categories, sellers or warehouses.
func (c cells) reference() (r Record, id string) {
	row := export.WarehouseFile.Read(c) // has all columns of the other files
	name, problem := catalog.CheckName(row.Name)
	if problem != "" {
		c.refuse("name", "%s", problem)
	}
	r = c.newRecord(c.kind, "")
	r.Name, r.IsDefault = name, row.IsDefault
	return r, row.ID
}

func ownProduct(r *reading, g group) []Record {
	c := g.rows[0]
	row := export.ProductFile.Read(c)
	record, p := c.record("sku"), &row.PlanRow
	r.setReference(c, &p.CategoryName, "category", row.Category, Category)
	r.setReference(c, &p.SellerName, "seller", row.Seller, Seller)
	r.setReference(c, &p.WarehouseName, "warehouse", row.Warehouse, Warehouse)
	record.Notes = r.checkBarcode(c, &p.Changes)
	p.ImageURLs = c.ownImages(row.Images, &record.Notes)
	record.Product = p
	return []Record{record}
}

// setReference sets the name of a reference that is given by the id of its file.
func (r *reading) setReference(c cells, to *catalog.Field[string], column, id string, kind Kind) {
	if id == "" || len(c.invalid[column+"_name"]) > 0 {
		return
	}
	if to.Set {
		c.refuse(column, "must not be combined with %s_name", column)
		return
	}
	name, exists := r.nameByID[kind][strings.TrimSpace(id)]
	if !exists {
		c.refuse(column, "%q is not an id in %s.csv", id, referenceKinds[kind])
		return
	}
	*to = catalog.Value(name)
}

func ownStock(_ *reading, g group) []Record {
	row, record := export.StockFile.Read(g.rows[0]), g.rows[0].record("sku")
	record.Product = &catalog.PlanRow{Stock: []catalog.StockOf{row.StockOf}}
	record.Product.SKU = textField(row.SKU)
	return []Record{record}
}

// ownImages splits at blanks, which a stored URL never has.
func (c cells) ownImages(texts string, notes *[]Note) catalog.Field[[]string] {
	var urls []string
	isBlank := func(char rune) bool { return char <= ' ' }
	for text := range strings.FieldsFuncSeq(texts, isBlank) {
		address, problem := catalog.CheckImageURL(text)
		if problem != "" {
			c.refuse("images", "%q %s", shorten(text, 100), problem)
			return catalog.Field[[]string]{}
		}
		urls = append(urls, address)
	}
	return firstImages(urls, notes)
}

// checkBarcode reports zeros that a spreadsheet has removed from a barcode, and restores them if that is set.
func (r *reading) checkBarcode(c cells, p *catalog.Changes) []Note {
	if !p.UPC.Set {
		return nil
	}
	barcode, restored, err := table.Barcode(p.UPC.Value)
	if err != nil {
		c.refuse("upc", "%v", err)
	}
	if !c.isExact {
		p.UPC.Value = barcode
	}
	switch {
	case restored == "":
		return nil
	case r.settings.RestoreZeros:
		p.UPC.Value = restored
		return []Note{{Text: "leading zeros of the barcode were restored"}}
	}
	return []Note{{Text: "a spreadsheet seems to have removed leading zeros of the barcode"}}
}
