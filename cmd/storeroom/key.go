package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
)

const (
	expiryValues  = "30d, 90d, 365d or never"
	overlapValues = "0, 1h, 24h or 168h"
)

func (c console) keyCommand() *cli.Command {
	id := func() cli.Flag {
		return &cli.Int64Flag{Name: "id", Usage: "id of the key (required)", Required: true, Config: decimal}
	}
	return &cli.Command{
		Name:  "key",
		Usage: "create, list, revoke and roll API keys",
		Commands: []*cli.Command{
			c.operatorCommand("create", "create a key and print it; it cannot be shown again", createKey,
				describe("storeroom key create --tenant acme --name Till --scopes products:read,orders:write"),
				tenantFlag(), requiredFlag("name", "purpose of the key"),
				requiredFlag("scopes", "permissions such as products:read,orders:write, or full, read-only, catalog or reporting"),
				&cli.StringFlag{Name: "expires", Value: "never", Usage: expiryValues}),
			c.operatorCommand("list", "list the keys of a tenant", listKeys,
				describe("storeroom key list --tenant acme"),
				tenantFlag()),
			c.operatorCommand("revoke", "permanently disable a key", revokeKey,
				describe("storeroom key revoke --tenant acme --id 7",
					"The webhooks that it made are paused, unless --keep-webhooks is given."),
				tenantFlag(), id(), keepWebhooksFlag()),
			c.operatorCommand("roll", "create a key that replaces another one, and print it; it cannot be shown again", rollKey,
				describe("storeroom key roll --tenant acme --id 7 --overlap 1h"),
				tenantFlag(), id(),
				&cli.StringFlag{Name: "overlap", Value: "24h", Usage: "how long the old key stays active: " + overlapValues}),
		},
	}
}

const keepWebhooks = "keep-webhooks"

func keepWebhooksFlag() cli.Flag {
	return &cli.BoolFlag{Name: keepWebhooks, Usage: "let the webhooks go on; the operator becomes responsible for them"}
}

// keyJSON is the JSON form of a key. Key is set only when the key is created.
type keyJSON struct {
	ID          int64             `json:"id"`
	Key         string            `json:"key,omitempty"`
	Tenant      string            `json:"tenant"`
	Name        string            `json:"name"`
	Permissions []keys.Permission `json:"permissions"`
	Prefix      string            `json:"prefix"`
	Last4       string            `json:"last4"`
	CreatedAt   time.Time         `json:"created_at"`
	ExpiresAt   *time.Time        `json:"expires_at"`
	RevokedAt   *time.Time        `json:"revoked_at"`
	ReplacedBy  *int64            `json:"replaced_by"`
	LastUsedAt  *time.Time        `json:"last_used_at"`
}

func newKeyJSON(tenant string, k keys.Key) keyJSON {
	return keyJSON{
		ID:          k.ID,
		Tenant:      tenant,
		Name:        k.Name,
		Permissions: k.Permissions,
		Prefix:      k.Prefix,
		Last4:       k.Last4,
		CreatedAt:   k.CreatedAt.UTC(),
		ExpiresAt:   inUTC(k.ExpiresAt),
		RevokedAt:   inUTC(k.RevokedAt),
		ReplacedBy:  k.ReplacedBy,
		LastUsedAt:  inUTC(k.LastUsedAt),
	}
}

func (o operation) keys() *keys.Store { return keys.New(o.db, o.cfg.KeyPeppers) }

// keyError names the flags in errors of the store.
func (o operation) keyError(err error) error {
	slug := o.tenant.Slug
	switch {
	case errors.Is(err, tenancy.ErrNotFound):
		return fmt.Errorf("--id: tenant %s has no key %d", slug, o.cmd.Int64("id"))
	case errors.Is(err, keys.ErrSuspended):
		return fmt.Errorf("--tenant: %s is suspended and cannot have new keys: run `storeroom tenant resume --slug %s`",
			slug, slug)
	}
	return err
}

func createKey(ctx context.Context, o operation) error {
	newKey, err := parseNewKey(o.cmd)
	if err != nil {
		return err
	}
	if _, err := o.config("STOREROOM_KEY_PEPPERS"); err != nil {
		return err
	}
	key, secret, err := o.keys().Create(ctx, o.tenant.ID, tenancy.Operator, newKey)
	if err != nil {
		return o.keyError(err)
	}
	return o.printSecret(key, secret)
}

// parseNewKey reads the flags. Its error names all invalid flags.
func parseNewKey(cmd *cli.Command) (keys.NewKey, error) {
	invalid := tenancy.InvalidError{}
	permissions, err := keys.ParsePermissions(cmd.String("scopes"))
	if unknown, ok := errors.AsType[tenancy.InvalidError](err); ok {
		invalid = unknown
	}
	var lifetime time.Duration
	if expires := cmd.String("expires"); expires != "never" {
		if lifetime, err = parseDuration(expires); err != nil || lifetime == 0 {
			invalid.Add("expires", "must be "+expiryValues)
		}
	}
	return keys.NewKey{Name: cmd.String("name"), Permissions: permissions, Lifetime: lifetime}, invalid.Err()
}

func listKeys(ctx context.Context, o operation) error {
	found, err := o.keys().List(ctx, o.tenant.ID)
	if err != nil {
		return err
	}
	all := make([]keyJSON, len(found))
	for i, k := range found {
		all[i] = newKeyJSON(o.tenant.Slug, k)
	}
	return o.print(all, func(w io.Writer) {
		fmt.Fprintln(w, "ID\tKEY\tNAME\tPERMISSIONS\tCREATED\tLAST USED\tSTATE")
		for _, k := range found {
			fmt.Fprintf(w, "%d\t%s…%s\t%s\t%s\t%s\t%s\t%s\n",
				k.ID, k.Prefix, k.Last4, k.Name, k.Permissions, date(&k.CreatedAt), date(k.LastUsedAt), keyState(k))
		}
	})
}

func keyState(k keys.Key) string {
	switch status := k.Status(); {
	case status == keys.Revoked:
		return "revoked " + date(k.RevokedAt)
	case status == keys.Expired:
		return "expired " + date(k.ExpiresAt)
	case k.ExpiresAt != nil:
		return "active until " + date(k.ExpiresAt)
	}
	return "active"
}

func revokeKey(ctx context.Context, o operation) error {
	id := o.cmd.Int64("id")
	revoke := o.keys().Revoke
	if o.cmd.Bool(keepWebhooks) {
		revoke = o.keys().RevokeAndKeep
	}
	if err := revoke(ctx, o.tenant.ID, tenancy.Operator, id); err != nil {
		return o.keyError(err)
	}
	result := struct {
		ID      int64  `json:"id"`
		Tenant  string `json:"tenant"`
		Revoked bool   `json:"revoked"`
	}{id, o.tenant.Slug, true}
	return o.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "revoked key %d of tenant %s; all instances reject it within two seconds\n", id, o.tenant.Slug)
	})
}

func rollKey(ctx context.Context, o operation) error {
	overlap, err := parseDuration(o.cmd.String("overlap"))
	if err != nil {
		return tenancy.InvalidError{"overlap": {"must be " + overlapValues}}
	}
	if _, err := o.config("STOREROOM_KEY_PEPPERS"); err != nil {
		return err
	}
	key, secret, err := o.keys().Roll(ctx, o.tenant.ID, tenancy.Operator, o.cmd.Int64("id"), overlap)
	if err != nil {
		return o.keyError(err)
	}
	return o.printSecret(key, secret)
}

func (o operation) printSecret(k keys.Key, secret keys.Secret) error {
	result := newKeyJSON(o.tenant.Slug, k)
	result.Key = secret.Reveal()
	return o.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "%s\n\n", result.Key)
		fmt.Fprintf(w, "Key %d of tenant %s, %q, permissions: %s; %s.\n",
			k.ID, o.tenant.Slug, k.Name, k.Permissions, keyState(k))
		fmt.Fprintln(w, "Store it now: it cannot be shown again.")
	})
}

// parseDuration reads a number of days such as 90d, or the format of time.ParseDuration.
func parseDuration(s string) (time.Duration, error) {
	if days, found := strings.CutSuffix(s, "d"); found {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(s)
}
