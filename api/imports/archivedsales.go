package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
)

// readOrders yields orders with their items, each with its cancellation.
func (a *archiveReader) readOrders() error {
	orders, err := a.open("orders")
	if err != nil {
		return err
	}
	defer orders.rows.rows.Close()
	items, err := a.open("order_items")
	if err != nil {
		return err
	}
	defer items.rows.rows.Close()
	for !orders.end {
		c, number := orders.cells, orders.plain("number")
		r := c.newRecord(Order, c.key("number"))
		r.Order = newOwnOrder(c)
		r.Order.Number, r.Order.Content, r.Order.Short = number, c.digest(), c.flag("short")
		kept := group{}
		kept.add(c)
		for !items.end && items.plain("order_number") == number {
			if kept.add(items.cells) {
				if err := a.addItem(&r, items.cells); err != nil {
					return err
				}
			}
			if err := items.next(); err != nil {
				return err
			}
		}
		if r.Omitted = kept.omitted; r.Omitted > 0 && len(r.Order.Items) <= sales.MaxItems {
			r.Invalid.Add("items", "have more than 8 MiB")
		}
		at := ownField(c, "cancelled_at", ownTime)
		r.Cancelled = at.Set
		if err := a.record(r); err != nil {
			return err
		}
		if at.Set {
			if err := a.record(r.cancellation(at.Value, c.invalid)); err != nil {
				return err
			}
		}
		if err := orders.next(); err != nil {
			return err
		}
	}
	return items.finished("number")
}

// addItem adds an item as it was sold.
func (a *archiveReader) addItem(r *Record, c cells) error {
	i := len(r.Order.Items)
	c = c.in(r.Invalid, fmt.Sprintf("items[%d].", i))
	r.addOwnItem(c)
	item := &r.Order.Items[i]
	sold, err := a.archive.sold.at(c.number("sold_product"))
	if err != nil {
		return err
	}
	if item.SKU, item.Sold = c.plain("sku"), sold; sold == nil {
		c.refuse("sold_product", "%q is not in sold_products.csv", c.raw("sold_product"))
	}
	if taken := c.number("stock_taken"); taken != 0 {
		returned := c.number("stock_returned")
		if taken < 0 || taken > item.Quantity || returned < 0 || returned > taken {
			c.refuse("stock_taken", "must be at most the quantity, and at least stock_returned")
			return nil
		}
		item.Stock = &sales.SoldStock{Taken: int32(taken), Returned: int32(returned), Warehouse: c.plain("warehouse_name")}
	}
	return nil
}

// refunds returns a function that reads a refund. Equal refunds without a reference have the same time, so they are
// near each other.
func (a *archiveReader) refunds() func(cells) Record {
	var last time.Time
	before := map[string]int{}
	return func(c cells) Record {
		at, amount := ownField(c, "refunded_at", ownTime), c.money("amount", "amount")
		c.require("order_number", "refunded_at", "amount")
		refund := &sales.Refund{
			OrderNumber: c.plain("order_number"), RefundedAt: &at.Value, Reference: optional(c.plain("reference")),
			Content: c.digest(),
		}
		if amount != nil {
			refund.Amount = *amount
		}
		c.setParts(refund, true)
		if !at.Value.Equal(last) {
			clear(before)
			last = at.Value
		}
		if refund.Reference == nil {
			key := refund.OrderNumber + " " + string(refund.Content)
			refund.Before = before[key]
			before[key]++
		}
		r := c.newRecord(Refund, c.key("order_number"))
		r.Refund = refund
		return r
	}
}

// soldRows are the rows of sold_products.csv in a temporary file.
type soldRows struct {
	ids     []int64 // ascending, as collect has checked
	offsets []int64 // one more than ids
	file    *table.TempFile
}

// readSold copies sold_products.csv.
func (a *archiveReader) readSold() (*soldRows, error) {
	file, err := a.space.File()
	if err != nil {
		return nil, err
	}
	s := &soldRows{file: file, offsets: []int64{0}}
	err = s.copy(a)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

func (s *soldRows) copy(a *archiveReader) error {
	c, err := a.open("sold_products")
	if err != nil {
		return err
	}
	defer c.rows.rows.Close()
	var buffer []byte
	size := int64(0)
	for ; !c.end; err = c.next() {
		if err != nil {
			return err
		}
		id := c.number("id")
		sold := sales.Sold{
			ID: id, Product: c.number("product"), Category: c.number("category"), Seller: c.number("seller"),
			Name: c.plain("name"), CategoryName: c.plain("category_name"), SellerName: c.plain("seller_name"),
		}
		for _, name := range []string{sold.Name, sold.CategoryName, sold.SellerName} {
			if _, problem := catalog.CheckName(name); problem != "" && name != "" {
				return fmt.Errorf("%s line %d: a name %s", c.rows.Name, c.line, problem)
			}
		}
		text, err := json.Marshal(sold)
		if err != nil {
			return err
		}
		buffer = append(buffer, text...)
		size += int64(len(text))
		s.ids, s.offsets = append(s.ids, id), append(s.offsets, size)
		if len(buffer) > 64<<10 {
			if _, err := s.file.Write(buffer); err != nil {
				return fmt.Errorf("temporary file: %w", err)
			}
			buffer = buffer[:0]
		}
	}
	if err != nil {
		return err
	}
	if _, err := s.file.Write(buffer); err != nil {
		return fmt.Errorf("temporary file: %w", err)
	}
	return nil
}

// at returns the row with an id, or nil.
func (s *soldRows) at(id int64) (*sales.Sold, error) {
	i, exists := slices.BinarySearch(s.ids, id)
	if !exists {
		return nil, nil
	}
	text := make([]byte, s.offsets[i+1]-s.offsets[i])
	_, err := s.file.ReadAt(text, s.offsets[i])
	sold := &sales.Sold{}
	if err == nil {
		err = json.Unmarshal(text, sold)
	}
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	return sold, nil
}
