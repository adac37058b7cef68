package reports

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

// overviewOf returns a query of a day, and a result of that many days.
func overviewOf(days int) (OverviewQuery, Overview) {
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, days)
	return OverviewQuery{Range: Range{day, day}}, Overview{Summary: Summary{Days: make([]DaySums, days)}}
}

func TestStoredOverviewsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOverviewCache()
		q, o := overviewOf(1)
		c.add(1, q, o, overviewState{})
		time.Sleep(storedFor)
		if len(c.stored(1, q)) != 1 {
			t.Error("the result expires early")
		}
		time.Sleep(time.Second)
		if len(c.stored(1, q)) != 0 {
			t.Error("the result does not expire")
		}
	})
}

func TestStoredOverviewsAreOfOneTenantQueryAndServer(t *testing.T) {
	t.Parallel()
	c := newOverviewCache()
	q, o := overviewOf(1)
	other, _ := overviewOf(2)
	c.add(1, q, o, overviewState{Started: 1, Since: 1})
	c.add(1, q, o, overviewState{Started: 2, Since: 2})
	c.add(1, q, o, overviewState{Started: 1, Since: 3}) // replaces the first
	if found := c.stored(1, q); len(found) != 2 || found[0].state.Since != 2 || found[1].state.Since != 3 {
		t.Errorf("stored = %+v, want those with Since 2 and 3", found)
	}
	if len(c.stored(2, q)) != 0 || len(c.stored(1, other)) != 0 {
		t.Error("another tenant or query gets the result")
	}
	c.add(1, other, o, overviewState{Changes: maxLateChanges + 1})
	if len(c.stored(1, other)) != 0 {
		t.Error("a result is stored for which many changes would be counted")
	}
}

func TestStoredOverviewsAreBounded(t *testing.T) {
	t.Parallel()
	c := newOverviewCache()
	for days := range 6 {
		q, o := overviewOf(days)
		c.add(1, q, o, overviewState{})
	}
	for days := range 6 {
		if q, _ := overviewOf(days); len(c.stored(1, q)) == 1 != (days >= 6-overviewsOfTenant) {
			t.Errorf("the result of %d days is stored or removed, but not the last %d are stored", days, overviewsOfTenant)
		}
	}
	q, o := overviewOf(maxOverviewBytes / bytesOfDay)
	if c.add(1, q, o, overviewState{}); len(c.stored(1, q)) != 0 {
		t.Error("a large result is stored")
	}
	q, o = overviewOf(maxOverviewBytes/bytesOfDay - 100)
	for tenant := range tenancy.ID(100) {
		c.add(tenant, q, o, overviewState{})
	}
	stored := 0
	for _, tenant := range c.tenants.Keys() {
		for range c.stored(tenant, q) {
			stored += o.memory()
		}
	}
	if stored != c.bytes || stored > maxStoredBytes || stored < maxStoredBytes-2*maxOverviewBytes {
		t.Errorf("%d bytes are stored, %d counted; want at most %d", stored, c.bytes, maxStoredBytes)
	}
	for _, tenant := range c.tenants.Keys() {
		c.tenants.Remove(tenant)
	}
	if c.bytes != 0 {
		t.Errorf("%d bytes are counted without results", c.bytes)
	}
}
