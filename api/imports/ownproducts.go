package imports

import (
	"strings"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/catalog"
)

// ownReference reads a row of categories, sellers or warehouses, and remembers its id.
func ownReference(r *reading, g group) []Record {
	c := g.rows[0]
	id := strings.TrimSpace(c.raw("id"))
	name, problem := catalog.CheckName(c.plain("name"))
	if problem != "" {
		c.refuse("name", "%s", problem)
	}
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
		ids[id] = name
	}
	record := c.newRecord(c.kind, "")
	record.Name = name
	return []Record{record}
}

func ownProduct(r *reading, g group) []Record {
	c := g.rows[0]
	p := &catalog.PlanRow{Changes: c.ownChanges()}
	p.Quantity = ownField(c, "quantity", ownInteger(0, catalog.MaxQuantity))
	p.CategoryName = r.ownReferenceName(c, "category", Category)
	p.SellerName = r.ownReferenceName(c, "seller", Seller)
	p.WarehouseName = r.ownReferenceName(c, "warehouse", Warehouse)
	record := c.newRecord(Product, c.key("sku"))
	record.Product, record.Notes = p, r.checkBarcode(c, &p.Changes)
	p.ImageURLs = c.ownImages(&record.Notes)
	return []Record{record}
}

// ownChanges returns the fields of a product that an archive also has.
func (c cells) ownChanges() catalog.Changes {
	return catalog.Changes{
		SKU:          ownField(c, "sku", ownText),
		Name:         ownField(c, "name", ownText),
		Description:  ownField(c, "description", ownText),
		Price:        c.ownMoney("price"),
		MSRP:         c.ownMoney("msrp"),
		Cost:         c.ownMoney("cost"),
		Status:       ownField(c, "status", ownText),
		Condition:    ownField(c, "condition", ownText),
		ReorderPoint: ownField(c, "reorder_point", ownInteger(0, catalog.MaxQuantity)),
		BinLocation:  ownField(c, "bin_location", ownText),
		UPC:          ownField(c, "upc", ownText),
		Tags:         ownField(c, "tags", ownTags),
	}
}

// ownReferenceName returns the name of a reference, given by itself or by the id of its file.
func (r *reading) ownReferenceName(c cells, column string, kind Kind) catalog.Field[string] {
	id, nameColumn := c.raw(column), column+"_name"
	if c.raw(nameColumn) != "" {
		name, problem := catalog.CheckName(c.plain(nameColumn))
		switch {
		case problem != "":
			c.refuse(nameColumn, "%s", problem)
			return catalog.Field[string]{}
		case id != "":
			c.refuse(column, "must not be combined with %s", nameColumn)
		}
		return catalog.Value(name)
	}
	if id == "" {
		return catalog.Field[string]{}
	}
	name, exists := r.nameByID[kind][strings.TrimSpace(id)]
	if !exists {
		c.refuse(column, "%q is not an id in %s.csv", id, referenceKinds[kind])
		return catalog.Field[string]{}
	}
	return catalog.Value(name)
}

func ownStock(_ *reading, g group) []Record {
	c := g.rows[0]
	c.require("sku", "warehouse_name", "quantity")
	stock := catalog.StockOf{
		Warehouse: c.id("warehouse_name"),
		Quantity:  ownField(c, "quantity", ownInteger(0, catalog.MaxQuantity)).Value,
	}
	p := &catalog.PlanRow{Stock: []catalog.StockOf{stock}}
	p.SKU = ownField(c, "sku", ownText)
	record := c.newRecord(Stock, c.key("sku"))
	record.Product = p
	return []Record{record}
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
