package sales

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// EnsureCustomers adds the customers that are missing and fills in names and
// e-mails that differ; nil leaves what is there. Who was erased stays erased. It
// returns an InvalidError whose fields are customers[i].id and so on.
func (s *Store) EnsureCustomers(ctx context.Context, tenant tenancy.ID, customers []Customer) (Count, error) {
	faults := tenancy.InvalidError{}
	checked := make([]Customer, len(customers))
	numbers := make([]string, len(customers))
	for i, c := range customers {
		checked[i] = *checkCustomer(c, fmt.Sprintf("customers[%d].", i), faults)
		numbers[i] = checked[i].ID
	}
	if len(faults) > 0 {
		return Count{}, faults
	}
	var count Count
	var known []knownCustomer
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		queueKnownCustomers(q, tenant, numbers, &known)
	}, func(q *pgx.Batch) error {
		changed := newCustomers(checked, known)
		count.Unchanged = len(distinct(numbers)) - len(changed)
		count.Updated = len(changed)
		for _, c := range changed {
			if !slices.ContainsFunc(known, func(k knownCustomer) bool { return k.Number == c.ID }) {
				count.Updated--
			}
		}
		count.Created = len(changed) - count.Updated
		queueCustomers(q, tenant, changed)
		return nil
	})
	if err != nil {
		return Count{}, fmt.Errorf("add %d customers: %w", len(customers), err)
	}
	return count, nil
}

// EraseCustomer blanks a person's name and e-mail for good, and forgets answers
// that are kept for repeated requests and show them; sums stay. Again it does what is
// left to do. It returns ErrNotFound.
func (s *Store) EraseCustomer(ctx context.Context, tenant tenancy.ID, id string) error {
	id = strings.TrimSpace(id)
	var shown bytes.Buffer // as answers write it
	encoder := json.NewEncoder(&shown)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(id); err != nil {
		return err
	}
	needle := append([]byte(`"customer":{"id":`), bytes.TrimSpace(shown.Bytes())...)
	var erased []idRow
	err := s.db.Run(ctx, tenant, func(q *pgx.Batch) {
		// Whose order is under way may be shown in an answer that is kept when it ends.
		q.Queue(`select from customers where tenant_id = $1 and number = $2 for update`, tenant, id)
		tenancy.QueueRows(q, &erased, `
			update customers set name = null, email = null, erased_at = coalesce(erased_at, now()), updated_at = now()
			 where tenant_id = $1 and number = $2 returning id`, tenant, id)
	})
	if err == nil && len(erased) == 0 {
		err = tenancy.ErrNotFound
	}
	if err == nil {
		// The customer is held no longer: a request that removes expired answers may
		// have one of these, and wait for the customer.
		_, err = s.db.Exec(ctx, tenant, `
			delete from idempotency_keys
			 where tenant_id = $1 and position($2::bytea in body) > 0`, tenant, needle)
	}
	if err != nil {
		return fmt.Errorf("erase customer: %w", err)
	}
	return nil
}

// queueShown holds the customers of orders that are there already, as a new order
// holds its own: until the transaction ends nobody erases them, and an answer that
// shows them is kept before it is looked for.
func queueShown(q *pgx.Batch, tenant tenancy.ID, orders []int64) {
	if len(orders) == 0 {
		return
	}
	q.Queue(`
		select from customers
		 where tenant_id = $1 and id in (select customer_id from orders where tenant_id = $1 and id = any ($2))
		 order by id for key share`, tenant, orders)
}

// newCustomers are those of sent that the database does not have like that, each
// once, by id. Of several the last that says something counts.
func newCustomers(sent []Customer, known []knownCustomer) []Customer {
	merged := map[string]Customer{}
	for _, c := range sent {
		m := merged[c.ID]
		merged[c.ID] = Customer{c.ID, cmp.Or(c.Name, m.Name), cmp.Or(c.Email, m.Email)}
	}
	for _, k := range known {
		c, wanted := merged[k.Number]
		if wanted && (k.Erased || same(c.Name, k.Name) && same(c.Email, k.Email)) {
			delete(merged, k.Number)
		}
	}
	customers := make([]Customer, 0, len(merged))
	for _, c := range merged {
		customers = append(customers, c)
	}
	slices.SortFunc(customers, func(a, b Customer) int { return cmp.Compare(a.ID, b.ID) })
	return customers
}

func queueKnownCustomers(q *pgx.Batch, tenant tenancy.ID, numbers []string, known *[]knownCustomer) {
	tenancy.QueueRows(q, known, `
		select c.number, c.name, c.email, c.erased_at is not null as erased
		  from unnest($2::text[]) u (number)
		 cross join lateral (select * from customers where tenant_id = $1 and number = u.number limit 1) c`, tenant, numbers)
}

// same says whether what was sent changes nothing.
func same(sent, known *string) bool { return sent == nil || known != nil && *sent == *known }

func queueCustomers(q *pgx.Batch, tenant tenancy.ID, customers []Customer) {
	if len(customers) == 0 {
		return
	}
	numbers, names, emails := make([]string, len(customers)), make([]*string, len(customers)), make([]*string, len(customers))
	for i, c := range customers {
		numbers[i], names[i], emails[i] = c.ID, c.Name, c.Email
	}
	q.Queue(`
		insert into customers as c (tenant_id, number, name, email)
		select $1, * from unnest($2::text[], $3::text[], $4::text[])
		on conflict (tenant_id, number) do update
		   set name = coalesce(excluded.name, c.name), email = coalesce(excluded.email, c.email), updated_at = now()
		 where c.erased_at is null`, tenant, numbers, names, emails)
}
