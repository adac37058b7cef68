package imports

import (
	"errors"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
)

// setParts sets the tax, the shipping and the items of a refund that was exported. Files of earlier versions have none
// of these. Without items that the refund names, the file has only the lines with returned units, and an archive all.
func (c cells) setParts(refund *sales.Refund, isArchive bool) {
	if tax := c.ownMoney("tax"); tax.Set {
		refund.Tax = &tax.Value
	}
	if shipping := c.ownMoney("shipping"); shipping.Set {
		refund.Shipping = &shipping.Value
	}
	refund.Restock, refund.Named = c.flag("restock"), c.flag("named")
	items := ownField(c, "items", ownShares)
	switch {
	case refund.Named || isArchive:
		refund.Shares = items.Value
	case refund.Restock:
		for _, s := range items.Value {
			refund.RestockItems = append(refund.RestockItems, sales.RestockItem{Line: int64(s.Line), Quantity: int64(s.Units)})
		}
		refund.Restock = refund.RestockItems != nil
	case items.Value != nil && len(c.invalid) == 0:
		c.refuse("items", "must be empty unless restock or named is true")
	}
}

var errShares = errors.New("must be line:amount:revenue:units of each item, separated by blanks")

// ownShares reads what an export writes; see export.Refunds.
func ownShares(text string) (shares []sales.RefundShare, err error) {
	for part := range strings.SplitSeq(text, " ") {
		fields := strings.Split(part, ":")
		if len(fields) != 4 || len(shares) == sales.MaxItems {
			return nil, errShares
		}
		line, errLine := strconv.ParseInt(fields[0], 10, 32)
		amount, errAmount := money.Parse(fields[1])
		revenue, errRevenue := money.Parse(fields[2])
		units, errUnits := strconv.ParseInt(fields[3], 10, 32)
		if errors.Join(errLine, errAmount, errRevenue, errUnits) != nil || line < 1 || units < 0 {
			return nil, errShares
		}
		shares = append(shares, sales.RefundShare{Line: int32(line), Amount: amount, Revenue: revenue, Units: int32(units)})
	}
	return shares, nil
}
