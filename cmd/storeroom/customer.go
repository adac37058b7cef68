package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

func (c console) customerCommand() *cli.Command {
	return &cli.Command{
		Name:  "customer",
		Usage: "forget people who bought",
		Commands: []*cli.Command{{
			Name: "erase", Usage: "blank a person's name and e-mail for good", Action: c.eraseCustomer,
			Description: "The person's orders stay under their id, and so does every sum. No import or order brings the name back.",
			Flags:       []cli.Flag{stringFlag("tenant", "slug of the tenant"), stringFlag("id", "the person's id, as orders have it"), jsonFlag()},
		}},
	}
}

func (c console) eraseCustomer(ctx context.Context, cmd *cli.Command) error {
	return c.withTenant(ctx, cmd, func(db *tenancy.DB, t tenancy.Tenant, _ config.Config) error {
		id := cmd.String("id")
		err := sales.New(db).EraseCustomer(ctx, t.ID, id)
		if errors.Is(err, tenancy.ErrNotFound) {
			return fmt.Errorf("--id: tenant %s has no customer %q", t.Slug, id)
		}
		if err != nil {
			return err
		}
		answer := struct {
			Tenant string `json:"tenant"`
			ID     string `json:"id"`
			Erased bool   `json:"erased"`
		}{t.Slug, id, true}
		return c.print(cmd, answer, func(w io.Writer) {
			fmt.Fprintf(w, "erased name and e-mail of customer %q of tenant %s; orders and sums stay\n", id, t.Slug)
		})
	}, "id")
}
