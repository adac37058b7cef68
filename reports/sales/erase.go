package sales

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/idempotency"
)

// EraseCustomer permanently removes the name and the e-mail of a customer, also from the stored idempotency responses.
// It can be called again after an error; the audit log records the first erasure. It returns ErrNotFound if the customer
// does not exist. Plans and deliveries have names too: imports.EraseCustomer erases all of them. The functions add to the
// transaction, with the names that the customer had.
func (s *Store) EraseCustomer(
	ctx context.Context, tenant tenancy.ID, id string, by tenancy.Actor, also ...func(*pgx.Batch, Names) error,
) error {
	var names []Names
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		// Wait for transactions that hold the customer: each may store a response with
		// the name.
		names = nil
		db.QueueRows(q, &names, `
			select name, email from customers where tenant_id = $1 and number = $2 for update`, tenant, id)
	}, func(q *pgx.Batch) error {
		if len(names) == 0 {
			return tenancy.ErrNotFound
		}
		q.Queue(`
			insert into audit_log (tenant_id, user_id, actor, address, action, target)
			select $1, $3, $4, nullif($5, ''), 'customer.erase', number
			  from customers
			 where tenant_id = $1 and number = $2 and erased_at is null`, tenant, id, by.UserID, by.Name, by.Address)
		q.Queue(`
			update customers
			   set name = null, email = null, erased_at = coalesce(erased_at, now()), updated_at = now()
			 where tenant_id = $1 and number = $2`, tenant, id)
		queueCustomerTexts(q, tenant, []Customer{{ID: id}})
		for _, add := range also {
			if err := add(q, names[0]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = s.EraseFromResponses(ctx, tenant, id)
	}
	return tenancy.Wrap(err, "erase customer")
}

// Names are the personal data of a customer.
type Names struct{ Name, Email *string }

// EraseFromResponses removes the name and the e-mail of a customer from the stored responses, so that their idempotency
// keys stay used. It needs a separate transaction without a lock on the customer: a request that claims an expired key
// locks the stored response and may wait for the customer.
func (s *Store) EraseFromResponses(ctx context.Context, tenant tenancy.ID, id string) error {
	part, err := customerPart(id)
	if err != nil {
		return err
	}
	return idempotency.Rewrite(ctx, s.db, tenant, part, func(body []byte) []byte {
		return withoutNames(body, part)
	})
}

// withoutNames returns a response in which the customers that begin with part have no name and no e-mail.
func withoutNames(body, part []byte) []byte {
	var erased bytes.Buffer
	const key = `"customer":`
	for {
		at := bytes.Index(body, part)
		if at < 0 {
			erased.Write(body)
			return erased.Bytes()
		}
		var customer json.RawMessage
		if json.NewDecoder(bytes.NewReader(body[at+len(key):])).Decode(&customer) != nil {
			return []byte("{}") // no response of this service
		}
		erased.Write(body[:at])
		erased.Write(part)
		erased.WriteString(`,"name":null,"email":null}`)
		body = body[at+len(key)+len(customer):]
	}
}

// EraseNames removes the name and the e-mail of the customer of an order that is not stored yet. Content keeps the digest
// of what was sent, so that the order, sent again, is the same.
func (o *Order) EraseNames() {
	if o.Content == nil {
		if checked, invalid := (Row{Order: *o}).check(time.Now()); len(invalid) == 0 {
			o.Content = checked.digest()
		}
	}
	o.Customer.Name, o.Customer.Email = nil, nil
}

// customerPart returns the JSON with which a customer in a response begins.
func customerPart(id string) ([]byte, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false) // as in responses
	if err := encoder.Encode(id); err != nil {
		return nil, err
	}
	return append([]byte(`"customer":{"id":`), bytes.TrimSpace(encoded.Bytes())...), nil
}
