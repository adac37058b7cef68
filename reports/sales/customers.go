package sales

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/searchtext"
	"github.com/storeroom/storeroom/tenancy/textfill"
)

// EnsureCustomers adds missing customers and updates names and e-mails that differ. A
// nil name or e-mail does not change the stored one, and erased customers stay erased.
// EnsureCustomers returns an InvalidError with fields such as customers[0].id.
func (s *Store) EnsureCustomers(ctx context.Context, tenant tenancy.ID, customers []Customer) (Count, error) {
	invalid := tenancy.InvalidError{}
	checked := make([]Customer, len(customers))
	for i, c := range customers {
		checked[i] = *checkCustomer(c, fmt.Sprintf("customers[%d].", i), invalid)
	}
	if len(invalid) > 0 {
		return Count{}, invalid
	}
	numbers := db.Distinct(column(checked, func(c Customer) string { return c.ID }))
	var count Count
	var stored []storedCustomer
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		queueStoredCustomers(q, tenant, numbers, &stored)
	}, func(q *pgx.Batch) error {
		changed := changedCustomers(checked, stored)
		count = Count{Unchanged: len(numbers) - len(changed)}
		for _, c := range changed {
			if slices.ContainsFunc(stored, func(s storedCustomer) bool { return s.Number == c.ID }) {
				count.Updated++
			} else {
				count.Created++
			}
		}
		queueCustomers(q, tenant, changed, stored)
		return nil
	})
	return count, tenancy.Wrap(err, "store %d customers", len(customers))
}

// queueCustomerLocks locks the customers of existing orders, as the foreign key locks
// those of new orders. EraseCustomer then waits until the response, which may contain
// the name, is stored.
func queueCustomerLocks(q *pgx.Batch, tenant tenancy.ID, orderIDs []int64) {
	if len(orderIDs) == 0 {
		return
	}
	q.Queue(`
		select
		  from unnest(array(
		       select distinct o.customer_id
		         from unnest($2::bigint[]) sent (id)
		        cross join lateral (select customer_id from orders where tenant_id = $1 and id = sent.id limit 1) o
		        order by o.customer_id
		       )) locked (id)
		 cross join lateral (
		       select from customers where tenant_id = $1 and id = locked.id limit 1 for key share
		       ) c`, tenant, orderIDs)
}

// storedCustomer is a stored customer.
type storedCustomer struct {
	Number      string
	Name, Email *string
	Erased      bool
}

// changedCustomers returns the customers that are missing or differ, each once, sorted
// by id. If a customer is sent several times, the last name and e-mail count.
func changedCustomers(sent []Customer, stored []storedCustomer) []Customer {
	changed := map[string]Customer{}
	for _, c := range sent {
		earlier := changed[c.ID]
		changed[c.ID] = Customer{
			c.ID, cmp.Or(c.Name, earlier.Name), cmp.Or(c.Email, earlier.Email), cmp.Or(c.ErasedAt, earlier.ErasedAt),
		}
	}
	for _, s := range stored {
		c := changed[s.Number]
		if s.Erased || equalOrNil(c.Name, s.Name) && equalOrNil(c.Email, s.Email) {
			delete(changed, s.Number)
		}
	}
	return slices.SortedFunc(maps.Values(changed), func(a, b Customer) int { return cmp.Compare(a.ID, b.ID) })
}

// renamed returns the changes of stored customers.
func renamed(changed []Customer, stored []storedCustomer) (changes []CustomerChange) {
	before := customersByNumber(stored)
	for _, c := range changed {
		if old, exists := before[c.ID]; exists {
			changes = append(changes, CustomerChange{
				ID: c.ID, OldName: old.Name, OldEmail: old.Email,
				Name: cmp.Or(c.Name, old.Name), Email: cmp.Or(c.Email, old.Email),
			})
		}
	}
	return changes
}

// equalOrNil reports whether sent leaves stored as it is.
func equalOrNil(sent, stored *string) bool {
	return sent == nil || stored != nil && *sent == *stored
}

func queueStoredCustomers(q *pgx.Batch, tenant tenancy.ID, numbers []string, stored *[]storedCustomer) {
	db.QueueRows(q, stored, `
		select c.number, c.name, c.email, c.erased_at is not null as erased
		  from unnest($2::text[]) u (number)
		 cross join lateral (select * from customers where tenant_id = $1 and number = u.number limit 1) c`,
		tenant, numbers)
}

// queueCustomers writes customers and their texts. stored has those that exist.
func queueCustomers(q *pgx.Batch, tenant tenancy.ID, customers []Customer, stored []storedCustomer) {
	if len(customers) == 0 {
		return
	}
	q.Queue(`
		insert into customers as c (tenant_id, number, name, email, erased_at)
		select $1, * from unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[])
		on conflict (tenant_id, number) do update
		   set name = coalesce(excluded.name, c.name),
		       email = coalesce(excluded.email, c.email),
		       updated_at = now()
		 where c.erased_at is null`,
		tenant,
		column(customers, func(c Customer) string { return c.ID }),
		column(customers, func(c Customer) *string { return c.Name }),
		column(customers, func(c Customer) *string { return c.Email }),
		column(customers, func(c Customer) *time.Time { return c.ErasedAt }))
	before, after := customersByNumber(stored), slices.Clone(customers)
	for i, c := range after {
		old := before[c.ID]
		after[i].Name, after[i].Email = cmp.Or(c.Name, old.Name), cmp.Or(c.Email, old.Email)
	}
	queueCustomerTexts(q, tenant, after)
}

// Texts are the texts that a search of customers compares.
var Texts = textfill.Kind{
	Name: "customer", Table: "customers", Key: "number", Fields: "array[o.number, o.name, o.email]",
	Texts: "customer_texts", ID: "customer_id",
}

// queueCustomerTexts writes the texts of customers after their names and e-mails. If another transaction has changed
// what this one read without a lock, the text is emptied and queued to be filled.
func queueCustomerTexts(q *pgx.Batch, tenant tenancy.ID, customers []Customer) {
	if len(customers) == 0 {
		return
	}
	texts := make([]string, len(customers))
	for i, c := range customers {
		fields := []string{c.ID}
		for _, field := range []*string{c.Name, c.Email} {
			if field != nil {
				fields = append(fields, *field)
			}
		}
		texts[i] = searchtext.Text(fields...)
	}
	q.Queue(`
		with c as materialized (
		select c.id, u.text, (c.name, c.email) is not distinct from (u.name, u.email) as is_same
		  from unnest($3::text[], $4::text[], $5::text[], $6::text[]) u (number, name, email, text)
		 cross join lateral (select * from customers where tenant_id = $1 and number = u.number limit 1) c
		), queued as (
		insert into unfilled_texts (tenant_id, kind, first_id, last_id)
		select $1, 'customer', id, id from c where not is_same
		)
		insert into customer_texts as t (tenant_id, customer_id, version, text)
		select $1, id, case when is_same then $2::smallint else 0 end, case when is_same then text else '' end
		  from c
		    on conflict (tenant_id, customer_id) do update
		   set version = excluded.version, text = excluded.text
		 where (t.version, t.text) is distinct from (excluded.version, excluded.text)`,
		tenant, searchtext.Version,
		column(customers, func(c Customer) string { return c.ID }),
		column(customers, func(c Customer) *string { return c.Name }),
		column(customers, func(c Customer) *string { return c.Email }),
		texts)
}

// earlierPatterns returns the patterns for customer_text, which finds the customers of a tenant until all of them have a
// text: a LIKE pattern for each word of a search, or none if a word has no letter or digit. A word without three
// consecutive letters or digits contains no trigram, so it matches at the start of a word only.
func earlierPatterns(search string) []string {
	patterns := []string{}
	escape := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
	for word := range strings.FieldsSeq(search) {
		longest := 0
		for _, run := range strings.FieldsFunc(word, isSeparator) {
			longest = max(longest, utf8.RuneCountInString(run))
		}
		switch {
		case longest == 0:
			return []string{}
		case longest < 3:
			patterns = append(patterns, "% "+escape.Replace(word)+"%")
		default:
			patterns = append(patterns, "%"+escape.Replace(word)+"%")
		}
	}
	return patterns
}

func isSeparator(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
