package feed

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

func TestCursorsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []Cursor{
		{Epoch: 1795453696, XID: 1 << 40, Seq: 9, Position: 1000, Type: 2, Time: time.Unix(1795453700, 0).UTC()},
		{Epoch: 1, XID: 3, Time: time.Unix(1, 0).UTC()}, Start,
	} {
		if got, err := ParseCursor(7, c.String(7)); err != nil || got != c {
			t.Errorf("ParseCursor(%v) = %v, %v", c, got, err)
		}
	}
	if got, err := ParseCursor(7, "now"); err != nil || got != Now {
		t.Errorf("ParseCursor(now) = %v, %v", got, err)
	}
}

func FuzzParseCursor(f *testing.F) {
	f.Add(Cursor{Epoch: 1795453696, XID: 1, Seq: 9, Position: 1, Type: 2, Time: time.Unix(1, 0)}.String(7))
	for _, text := range []string{"", "now", "tomorrow", "AA", "BwEBAQEBAQE", "BwEBAQEBgIA"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCursor(7, text)
		if err == nil && c != Now && c.String(7) != text {
			t.Errorf("ParseCursor(%q) = %v, which is written as %q", text, c, c.String(7))
		}
		if _, err := ParseCursor(8, text); err == nil && c != Start && c != Now {
			t.Errorf("ParseCursor(%q) accepts the cursor of another tenant", text)
		}
	})
}

// Only partitions whose changes are all older than the retention are emptied, whatever the day.
func TestDeleteOldKeepsChangesOfTheRetention(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for _, retention := range []time.Duration{MinRetention, 45 * day, MaxRetention} {
		days := int(retention / day)
		tenant := d.MustTenant(t, fmt.Sprint("shop-", days)).ID
		_, err := d.DB.Exec(t.Context(), tenant, `
			insert into changes (tenant_id, epoch, at, slot, action, types, ids)
			select $1, 1, now() - interval '1 day' * age,
			       ((now() at time zone 'UTC')::date - age - date '2000-01-01') / 10 % 12,
			       'created', '{seller}', array[age::text]
			  from generate_series(0, 99) age`, tenant)
		if err != nil {
			t.Fatal(err)
		}
		if err := New(d.DB, retention).DeleteOld(t.Context()); err != nil {
			t.Fatal(err)
		}
		kept, err := db.All[struct{ Age int }](t.Context(), d.DB, tenant,
			`select ids[1]::int as age from changes where tenant_id = $1 and epoch = 1`, tenant)
		if err != nil {
			t.Fatal(err)
		}
		oldest := 0
		for _, row := range kept {
			oldest = max(oldest, row.Age)
		}
		for age := range days + 1 {
			if !slices.Contains(kept, struct{ Age int }{age}) {
				t.Errorf("with a retention of %d days the change of %d days ago is deleted", days, age)
			}
		}
		if limit := days + 20; oldest > limit {
			t.Errorf("with a retention of %d days a change of %d days ago is kept", days, oldest)
		}
	}
}

// A waiting client of a quiet tenant gets a cursor that does not expire with the last change.
func TestTheCursorOfAQuietTenantIsRenewed(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "shop").ID
	s := New(d.DB, MinRetention)
	page := mustReadEntries(t, s, tenant, Start, 2)
	if _, err := d.MustSuper(t).Exec(t.Context(), `update changes set at = at - interval '2 days'`); err != nil {
		t.Fatal(err)
	}
	old := page.Next
	old.Time = old.Time.Add(-2 * day)
	renewed := mustReadAll(t, s, tenant, old)
	if age := time.Since(renewed.Next.Time); age > time.Minute || renewed.Next.Seq != 0 {
		t.Errorf("the cursor after an empty page is %+v, want the end of the feed now", renewed.Next)
	}
	const add = `insert into sellers (tenant_id, name) values ($1, 'Acme')`
	if _, err := d.DB.Exec(t.Context(), tenant, add, tenant); err != nil {
		t.Fatal(err)
	}
	if page := mustReadEntries(t, s, tenant, renewed.Next, 1); page.Entries[0].Type != "seller" {
		t.Errorf("after the renewed cursor there is %v, want the seller", page.Entries)
	}
}

// A restored backup or a moved tenant has a stored cursor together with its changes, so the cursor does not expire. A
// client may have got the end of the feed after the backup was made.
func TestAStoredCursorSurvivesARestore(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "a test cannot change shards")
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "shop").ID
	s := New(d.DB, MinRetention)
	end := mustReadEntries(t, s, tenant, Start, 2).Next
	end.Seq, end.Position, end.Type = 0, 0, 0
	end.XID++
	if _, err := d.MustSuper(t).Exec(t.Context(), `update feed_epochs set relation = 1`); err != nil { // as of another table
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context(), tenant, Query{After: end, Limit: 1}); !errors.Is(err, ErrExpired) {
		t.Errorf("Read after a cursor of a client = %v, want %v", err, ErrExpired)
	}
	const add = `insert into sellers (tenant_id, name) values ($1, 'Acme')`
	if _, err := d.DB.Exec(t.Context(), tenant, add, tenant); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		page, err := s.Read(t.Context(), tenant, Query{After: end, IsStored: true, Limit: 9})
		if err != nil || time.Since(begin) > 2*time.Minute || len(page.Entries) > 1 {
			t.Fatalf("Read after a stored cursor = %+v, %v; want the seller", page, err)
		}
		if len(page.Entries) == 1 {
			return
		}
	}
}

// mustReadEntries returns as many entries after a cursor. Transactions of other tests on the server can delay them.
func mustReadEntries(t *testing.T, s *Store, tenant tenancy.ID, after Cursor, entries int) Page {
	t.Helper()
	end := time.Now().Add(2 * time.Minute)
	for {
		page := mustReadAll(t, s, tenant, after)
		if len(page.Entries) == entries {
			return page
		}
		if time.Now().After(end) {
			t.Fatalf("there are %v, want %d entries", page.Entries, entries)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// mustReadAll returns all entries after a cursor as one page.
func mustReadAll(t *testing.T, s *Store, tenant tenancy.ID, after Cursor) Page {
	t.Helper()
	all := Page{Next: after}
	for {
		page, err := s.Read(t.Context(), tenant, Query{After: all.Next, Limit: 3})
		if err != nil {
			t.Fatal(fmt.Errorf("after %+v: %w", all.Next, err))
		}
		all.Entries, all.Next = append(all.Entries, page.Entries...), page.Next
		if !page.HasMore {
			return all
		}
	}
}

// After a start of PostgreSQL, the first writers of a tenant do not wait for each other: one of them may have locked a
// row that the other needs.
func TestWritersAfterAStartDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "a test cannot change shards")
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "shop").ID
	if _, err := d.MustSuper(t).Exec(t.Context(), `update feed_epochs set started_at = '2026-01-01'`); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"categories", "sellers"} {
		tx, err := d.DB.Begin(t.Context(), tenant, func(b *pgx.Batch) {
			b.Queue(`set local lock_timeout = '200ms'`)
			b.Queue(`insert into `+table+` (tenant_id, name) values ($1, 'Acme')`, tenant)
		})
		if err != nil {
			t.Fatalf("a write to %s: %v", table, err)
		}
		defer tx.Rollback(t.Context())
	}
}

func TestTheFeedIsReadSinceATime(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	s := New(d.DB, MinRetention)
	tenant := d.MustTenant(t, "shop").ID
	if got, err := s.Since(t.Context(), tenant, time.Now()); err != nil {
		t.Fatalf("Since before the first change = %v, %v", got, err)
	}
	_, err := d.DB.Exec(t.Context(), tenant, `
		with epoch as (
		     insert into feed_epochs (tenant_id, epoch, system, timeline, relation, started_at)
		     values ($1, 1, 0, 'first', 0, now() - interval '1 hour'))
		insert into changes (tenant_id, epoch, xid, at, action, types, ids)
		select $1, 1, 1 + age, now() - interval '1 minute' * (500 - age), 'created', '{seller}', array[age::text]
		  from generate_series(0, 500) age`, tenant)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, minutes := range []time.Duration{0, 1, 17, 250, 489, 490, 501, 1000} {
		since := now.Add(-minutes * time.Minute)
		page, err := s.Read(t.Context(), tenant, Query{After: mustSince(t, s, tenant, since), IsStored: true, Types: []string{"seller"}, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		// Ten minutes are added for transactions that recorded a change late.
		want := min(501, int(minutes)+int(maxTransaction/time.Minute))
		if n := len(page.Entries); n < want || n > want+2 {
			t.Errorf("%d minutes ago: %d entries, want about %d", minutes, n, want)
		}
	}
	if _, err := s.Read(t.Context(), tenant, Query{
		After: mustSince(t, s, tenant, now.Add(-MinRetention+maxTransaction/2)), IsStored: true, Limit: 1,
	}); err != nil {
		t.Errorf("five minutes less than the retention ago: %v", err)
	}
	if _, err := s.Since(t.Context(), tenant, now.Add(-MinRetention-time.Minute)); !errors.Is(err, ErrExpired) {
		t.Errorf("before the retention: %v, want ErrExpired", err)
	}
}

func mustSince(t *testing.T, s *Store, tenant tenancy.ID, at time.Time) Cursor {
	t.Helper()
	after, err := s.Since(t.Context(), tenant, at)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

// A client can continue after the page of a time, even if the last change is older than the retention, or was deleted
// and a promotion began another epoch.
func TestTheEndOfAPageSinceATimeHasNotExpired(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	s := New(d.DB, MinRetention)
	tenant := d.MustTenant(t, "shop").ID
	mustReadEntries(t, s, tenant, Start, 2)
	_, err := d.MustSuper(t).Exec(t.Context(), `
		with epoch as (
		     insert into feed_epochs (tenant_id, epoch, system, timeline, relation, started_at)
		     values ($1, 1, 0, 'first', 0, now() - interval '40 days'))
		update changes set epoch = 1, at = now() - interval '30 days 5 minutes' where tenant_id = $1`, tenant)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"with an old change", "without changes"} {
		for _, since := range []time.Time{time.Now().Add(-time.Hour), time.Now().Add(time.Minute - MinRetention)} {
			q := Query{After: mustSince(t, s, tenant, since), IsStored: true, Since: since, Limit: 1}
			if q.After.Epoch != 1 {
				t.Fatalf("%s, %v: Since = %+v, want epoch 1", what, since, q.After)
			}
			for hasMore := true; hasMore; {
				page, err := s.Read(t.Context(), tenant, q)
				if err != nil || len(page.Entries) > 0 {
					t.Fatalf("%s, %v: Read(%+v) = %+v, %v, want no entries", what, since, q, page, err)
				}
				q.After, hasMore = page.Next, page.HasMore
			}
			if _, err := s.Read(t.Context(), tenant, Query{After: q.After, Limit: 1}); err != nil {
				t.Errorf("%s, %v: Read after %+v: %v", what, since, q.After, err)
			}
		}
		if _, err := d.MustSuper(t).Exec(t.Context(), `delete from changes where tenant_id = $1`, tenant); err != nil {
			t.Fatal(err)
		}
	}
}
