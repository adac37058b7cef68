package reports

import "github.com/storeroom/storeroom/tenancy/money"

// Change is by how many percent now differs from before: 0.00 where both are zero,
// nil from zero to something.
func Change(now, before int64) *Figure {
	if before == 0 && now != 0 {
		return nil
	}
	return new(ratio(now-before, before, 10_000))
}

// RepeatRatePercent is how many of the people had bought before.
func (c Customers) RepeatRatePercent() Figure {
	return ratio(c.Customers-c.New, c.Customers, 10_000)
}

// AverageRevenue is the revenue of a person in the range.
func (c Customers) AverageRevenue() money.Cents {
	return money.Cents(ratio(int64(c.Total.Revenue), c.Customers, 1))
}
