package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/tenancy"
)

func (c console) customerCommand() *cli.Command {
	return &cli.Command{
		Name:  "customer",
		Usage: "erase the personal data of customers",
		Commands: []*cli.Command{
			c.operatorCommand("erase", "permanently erase the name and e-mail address of a customer", eraseCustomer,
				describe("storeroom customer erase --tenant acme --id 1017",
					"The orders keep the customer id, and all sums remain. A later import or order does not restore the name.",
					"Imports that are not computed yet end, because their files may name the customer."),
				tenantFlag(), requiredFlag("id", "customer id, as in the orders")),
		},
	}
}

// eraseWait is how long the command waits for an import of the tenant, and erases the customer from its plans.
const eraseWait = 10 * time.Minute

func eraseCustomer(ctx context.Context, o operation) error {
	id := o.cmd.String("id")
	done, err := imports.EraseCustomer(ctx, o.db, o.tenant.ID, tenancy.Operator, id, eraseWait)
	if errors.Is(err, tenancy.ErrNotFound) {
		return fmt.Errorf("--id: tenant %s has no customer %q", o.tenant.Slug, id)
	}
	if err != nil {
		return err
	}
	result := struct {
		Tenant string `json:"tenant"`
		ID     string `json:"id"`
		Erased bool   `json:"erased"`
		Later  bool   `json:"plans_later,omitempty"`
	}{o.tenant.Slug, id, true, !done}
	return o.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "erased name and e-mail address of customer %q of tenant %s; orders and sums remain\n",
			id, o.tenant.Slug)
		if !done {
			fmt.Fprintln(w, "instances erase them from plans of imports when the import that is carried out now ends")
		}
	})
}
