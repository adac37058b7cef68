package imports

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
)

// archivedOrder returns an order without items, and its cancellation, which is refused if the order is.
func archivedOrder(c cells) []Record {
	r := c.record("number")
	cancellations := r.cancellations(r.setOrder(c), r.Invalid)
	r.Cancelled = len(cancellations) > 0
	return append([]Record{r}, cancellations...)
}

// addItem adds an item as it was sold.
func (a *archiveReader) addItem(r *Record, c cells) error {
	row := r.addItem(c)
	c = c.in(r.Invalid, fmt.Sprintf("items[%d].", len(r.Order.Items)-1))
	item := &r.Order.Items[len(r.Order.Items)-1]
	sold, err := a.archive.sold.at(row.SoldProduct)
	if err != nil {
		return err
	}
	if item.Sold = sold; sold == nil {
		c.refuse("sold_product", "%q is not in sold_products.csv", c.ownCell("sold_product"))
	}
	if taken, returned := orZero(row.Taken), orZero(row.Returned); taken != 0 {
		if taken < 0 || int64(taken) > item.Quantity || returned < 0 || returned > taken {
			c.refuse("stock_taken", "must be at most the quantity, and at least stock_returned")
			return nil
		}
		item.Stock = &sales.SoldStock{Taken: taken, Returned: returned, Warehouse: orZero(row.Warehouse)}
	}
	return nil
}

// refunds returns a function that reads a refund. Equal refunds without a reference have the same time, so they are
// near each other.
func (a *archiveReader) refunds() func(cells) []Record {
	var last time.Time
	before := map[string]int{}
	return func(c cells) []Record {
		record := c.refund()
		refund := record.Refund
		if at := refund.RefundedAt; at != nil && !at.Equal(last) {
			clear(before)
			last = *at
		}
		if refund.Reference == nil {
			key := refund.OrderNumber + " " + string(refund.Content)
			refund.Before = before[key]
			before[key]++
		}
		return []Record{record}
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
	to := bufio.NewWriterSize(s.file, 64<<10)
	for ; !c.end && err == nil; err = c.next() {
		row := export.SoldFile.Read(c)
		if len(c.invalid) > 0 {
			return fmt.Errorf("%s line %d: %v", c.rows.Name, c.line, c.invalid)
		}
		text, err := json.Marshal(sales.Sold{
			ID: row.ID, Product: orZero(row.ProductID), Category: orZero(row.CategoryID), Seller: orZero(row.SellerID),
			Name: row.Name, CategoryName: orZero(row.CategoryName), SellerName: orZero(row.SellerName),
		})
		if err == nil {
			_, err = to.Write(text)
		}
		if err != nil {
			return fmt.Errorf("temporary file: %w", err)
		}
		s.ids = append(s.ids, row.ID)
		s.offsets = append(s.offsets, s.offsets[len(s.ids)-1]+int64(len(text)))
	}
	if err != nil {
		return err
	}
	if err := to.Flush(); err != nil {
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
