package sales

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// CustomerChange is a customer of a plan, with the name and the e-mail before and after.
type CustomerChange struct {
	ID                string
	Created           bool       `json:",omitempty"`
	OldName, OldEmail *string    `json:",omitempty"`
	Name, Email       *string    `json:",omitempty"`
	ErasedAt          *time.Time `json:",omitempty"` // of a new customer of an archive
}

// PlannedCustomer is what EnsureCustomers would do with a customer: Created, Updated, Unchanged, or Failed with an
// InvalidError (id, name, email).
type PlannedCustomer struct {
	CustomerChange
	Outcome Outcome
	Err     error
}

// PlanCustomers returns what EnsureCustomers would do, and writes nothing. If a customer is sent several times, the
// first row has all of its changes. The other rows, and those of erased customers, are Unchanged.
func (s *Store) PlanCustomers(ctx context.Context, tenant tenancy.ID, customers []Customer) ([]PlannedCustomer, error) {
	planned := make([]PlannedCustomer, len(customers))
	var valid []Customer
	for i, c := range customers {
		invalid := tenancy.InvalidError{}
		checked := checkCustomer(c, "", invalid)
		planned[i] = PlannedCustomer{CustomerChange{ID: checked.ID}, Unchanged, invalid.Err()}
		if len(invalid) > 0 {
			planned[i].Outcome = Failed
		} else {
			valid = append(valid, *checked)
		}
	}
	numbers := db.Distinct(column(valid, func(c Customer) string { return c.ID }))
	var stored []storedCustomer
	err := s.db.Run(ctx, tenant, func(q *pgx.Batch) { queueStoredCustomers(q, tenant, numbers, &stored) })
	if err != nil {
		return nil, fmt.Errorf("plan %d customers: %w", len(customers), err)
	}
	before := customersByNumber(stored)
	changed := map[string]Customer{}
	for _, c := range changedCustomers(valid, stored) {
		changed[c.ID] = c
	}
	for i := range planned {
		p := &planned[i]
		c, changes := changed[p.ID]
		if p.Outcome == Failed || !changes {
			continue
		}
		delete(changed, p.ID)
		old, exists := before[p.ID]
		if p.Outcome = Updated; !exists {
			p.Outcome, p.Created, p.ErasedAt = Created, true, c.ErasedAt
		}
		p.OldName, p.OldEmail = old.Name, old.Email
		p.Name, p.Email = cmp.Or(c.Name, old.Name), cmp.Or(c.Email, old.Email)
	}
	return planned, nil
}

func customersByNumber(customers []storedCustomer) map[string]storedCustomer {
	byNumber := make(map[string]storedCustomer, len(customers))
	for _, c := range customers {
		byNumber[c.Number] = c
	}
	return byNumber
}

// is reports whether the customer has a name and an e-mail, or lacks them.
func (c storedCustomer) is(name, email *string) bool {
	return !c.Erased && equal(c.Name, name) && equal(c.Email, email)
}

func equal(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// ApplyCustomers writes the changes in a transaction of db.Begin. It returns whether each was written: a customer that
// has changed since the plan is not.
func (s *Store) ApplyCustomers(
	ctx context.Context, tenant tenancy.ID, plan PlanID, changes []CustomerChange,
) ([]bool, error) {
	written := make([]bool, len(changes))
	var created []string
	var stored []storedCustomer
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		queueLockedCustomers(q, tenant, changes, &stored)
	}, func(q *pgx.Batch) error {
		before := customersByNumber(stored)
		created = nil
		var customers []Customer
		for i, c := range changes {
			old, exists := before[c.ID]
			written[i] = c.Created != exists && (!exists || old.is(c.OldName, c.OldEmail))
			if written[i] {
				customers = append(customers, Customer{c.ID, c.Name, c.Email, c.ErasedAt})
			}
			if written[i] && c.Created {
				created = append(created, c.ID)
			}
		}
		queueCustomers(q, tenant, customers, stored)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("store %d customers: %w", len(changes), err)
	}
	ids, err := db.All[idRow](ctx, s.db, tenant, `
		select id
		  from customers
		 where tenant_id = $1 and number = any ($2)`, tenant, created)
	if err != nil {
		return nil, fmt.Errorf("read the ids of %d customers: %w", len(created), err)
	}
	return written, s.record(ctx, tenant, plan, "customers", column(ids, func(r idRow) int64 { return r.ID }))
}

// queueLockedCustomers locks and reads the customers of changes.
func queueLockedCustomers(q *pgx.Batch, tenant tenancy.ID, changes []CustomerChange, stored *[]storedCustomer) {
	numbers := db.Distinct(column(changes, func(c CustomerChange) string { return c.ID }))
	q.Queue(`
		select
		  from unnest($2::text[]) u (number)
		 cross join lateral (
		       select from customers where tenant_id = $1 and number = u.number limit 1 for update
		       ) c`, tenant, numbers)
	queueStoredCustomers(q, tenant, numbers, stored)
}

// UndoCustomers undoes changes that were written, except of customers that have changed since, have orders or are
// erased.
func (s *Store) UndoCustomers(
	ctx context.Context, tenant tenancy.ID, plan PlanID, changes []CustomerChange,
) ([]tenancy.Kept, error) {
	var kept []tenancy.Kept
	var stored []storedCustomer
	var unused []struct {
		ID     int64
		Number string
	}
	numbers := db.Distinct(column(changes, func(c CustomerChange) string { return c.ID }))
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		queueLockedCustomers(q, tenant, changes, &stored)
		db.QueueRows(q, &unused, `
			select c.id, c.number
			  from unnest($2::text[]) u (number)
			 cross join lateral (select * from customers where tenant_id = $1 and number = u.number limit 1) c
			 where not exists (select from orders where tenant_id = $1 and customer_id = c.id)`, tenant, numbers)
	}, func(q *pgx.Batch) error {
		kept = nil
		before, ids := customersByNumber(stored), map[string]int64{}
		for _, c := range unused {
			ids[c.Number] = c.ID
		}
		var deleted []int64
		var restored []Customer
		for _, c := range changes {
			old, exists := before[c.ID]
			id, isUnused := ids[c.ID]
			switch {
			case !exists:
			case old.Erased && c.ErasedAt == nil:
				kept = append(kept, tenancy.Kept{Key: c.ID, Reason: "is erased"})
			case !old.Erased && !old.is(c.Name, c.Email):
				kept = append(kept, tenancy.Kept{Key: c.ID, Reason: "has changed since"})
			case !c.Created:
				q.Queue(`
					update customers
					   set name = $3, email = $4, updated_at = now()
					 where tenant_id = $1 and number = $2`, tenant, c.ID, c.OldName, c.OldEmail)
				restored = append(restored, Customer{ID: c.ID, Name: c.OldName, Email: c.OldEmail})
			case !isUnused:
				kept = append(kept, tenancy.Kept{Key: c.ID, Reason: "has orders"})
			default:
				deleted = append(deleted, id)
			}
		}
		queueCustomerTexts(q, tenant, restored)
		if len(deleted) > 0 {
			queueRemove(q, plan, Facts{}, deleted)
		}
		return nil
	})
	return kept, tenancy.Wrap(err, "undo %d customers", len(changes))
}
