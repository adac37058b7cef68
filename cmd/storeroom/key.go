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

func (c console) keyCommand() *cli.Command {
	tenant := stringFlag("tenant", "slug of the tenant")
	id := &cli.Int64Flag{Name: "id", Usage: "number of the key"}
	return &cli.Command{
		Name:  "key",
		Usage: "make, list, revoke and roll API keys",
		Commands: []*cli.Command{
			{Name: "create", Usage: "make a key and print it, this once", Action: c.createKey, Flags: []cli.Flag{
				tenant, jsonFlag(),
				stringFlag("name", "what the key is for"),
				stringFlag("scopes", "permissions such as products:read,orders:write, or a preset: full, read-only, catalog, reporting"),
				&cli.StringFlag{Name: "expires", Value: "never", Usage: "30d, 90d, 365d or never"},
			}},
			{Name: "list", Usage: "list the keys of a tenant", Action: c.listKeys, Flags: []cli.Flag{tenant, jsonFlag()}},
			{Name: "revoke", Usage: "end a key for good", Action: c.revokeKey, Flags: []cli.Flag{tenant, id, jsonFlag()}},
			{Name: "roll", Usage: "make a key's successor and print it, this once", Action: c.rollKey, Flags: []cli.Flag{
				tenant, id, jsonFlag(),
				&cli.StringFlag{Name: "overlap", Value: "24h", Usage: "how long the old key lives on: 0, 1h, 24h or 168h"},
			}},
		},
	}
}

// keyJSON is a key as scripts read it. Key is there only when it was made.
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
		ID: k.ID, Tenant: tenant, Name: k.Name, Permissions: k.Permissions, Prefix: k.Prefix, Last4: k.Last4, CreatedAt: k.CreatedAt.UTC(),
		ExpiresAt: inUTC(k.ExpiresAt), RevokedAt: inUTC(k.RevokedAt), ReplacedBy: k.ReplacedBy, LastUsedAt: inUTC(k.LastUsedAt),
	}
}

func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	utc := t.UTC()
	return &utc
}

// withKeys opens what the key commands need and finds their tenant.
func (c console) withKeys(ctx context.Context, cmd *cli.Command, f func(*keys.Store, tenancy.Tenant) error, needs ...string) error {
	db, cfg, err := c.openAdmin(ctx, needs...)
	if err != nil {
		return err
	}
	defer db.Close()
	tenant, err := findTenant(ctx, db, "tenant", cmd.String("tenant"))
	if err != nil {
		return err
	}
	err = f(keys.New(db, cfg.KeyPeppers), tenant)
	switch {
	case errors.Is(err, tenancy.ErrNotFound):
		return fmt.Errorf("--id: tenant %s has no key %d", tenant.Slug, cmd.Int64("id"))
	case errors.Is(err, keys.ErrSuspended):
		return fmt.Errorf("--tenant: %s is suspended and gets no new key: storeroom tenant resume --slug %s", tenant.Slug, tenant.Slug)
	}
	return err
}

func (c console) createKey(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "tenant", "name", "scopes"); err != nil {
		return err
	}
	wanted, err := newKey(cmd)
	if err != nil {
		return err
	}
	return c.withKeys(ctx, cmd, func(store *keys.Store, t tenancy.Tenant) error {
		key, secret, err := store.Create(ctx, t.ID, tenancy.Operator, wanted)
		if err != nil {
			return err
		}
		return c.tellSecret(cmd, t, key, secret)
	}, "STOREROOM_KEY_PEPPERS")
}

// newKey reads the flags and names the faults of both at once.
func newKey(cmd *cli.Command) (keys.NewKey, error) {
	faults := tenancy.InvalidError{}
	permissions, err := keys.ParsePermissions(cmd.String("scopes"))
	if unknown, ok := errors.AsType[tenancy.InvalidError](err); ok {
		faults = unknown
	}
	var lifetime time.Duration
	if expires := cmd.String("expires"); expires != "never" {
		if lifetime, err = parseSpan(expires); err != nil || lifetime == 0 {
			faults.Add("expires", "must be 30d, 90d, 365d or never")
		}
	}
	return keys.NewKey{Name: cmd.String("name"), Permissions: permissions, Lifetime: lifetime}, faults.Err()
}

func (c console) listKeys(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "tenant"); err != nil {
		return err
	}
	return c.withKeys(ctx, cmd, func(store *keys.Store, t tenancy.Tenant) error {
		found, err := store.List(ctx, t.ID)
		if err != nil {
			return err
		}
		all := make([]keyJSON, len(found))
		for i, k := range found {
			all[i] = newKeyJSON(t.Slug, k)
		}
		return c.print(cmd, all, func(w io.Writer) {
			fmt.Fprintln(w, "ID\tKEY\tNAME\tPERMISSIONS\tCREATED\tLAST USED\tSTATE")
			for _, k := range found {
				fmt.Fprintf(w, "%d\t%s…%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Prefix, k.Last4, k.Name, k.Permissions, date(&k.CreatedAt), date(k.LastUsedAt), keyState(k))
			}
		})
	})
}

// keyState says in a word or two whether a key still works.
func keyState(k keys.Key) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked " + date(k.RevokedAt)
	case k.ExpiresAt != nil && k.ExpiresAt.Before(time.Now()):
		return "expired " + date(k.ExpiresAt)
	case k.ExpiresAt != nil:
		return "until " + date(k.ExpiresAt)
	}
	return "live"
}

func (c console) revokeKey(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "tenant", "id"); err != nil {
		return err
	}
	return c.withKeys(ctx, cmd, func(store *keys.Store, t tenancy.Tenant) error {
		id := cmd.Int64("id")
		if err := store.Revoke(ctx, t.ID, tenancy.Operator, id); err != nil {
			return err
		}
		answer := struct {
			ID      int64  `json:"id"`
			Tenant  string `json:"tenant"`
			Revoked bool   `json:"revoked"`
		}{id, t.Slug, true}
		return c.print(cmd, answer, func(w io.Writer) {
			fmt.Fprintf(w, "revoked key %d of tenant %s: every instance refuses it within two seconds\n", id, t.Slug)
		})
	})
}

func (c console) rollKey(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "tenant", "id"); err != nil {
		return err
	}
	overlap, err := parseSpan(cmd.String("overlap"))
	if err != nil {
		return tenancy.InvalidError{"overlap": {"must be 0, 1h, 24h or 168h"}}
	}
	return c.withKeys(ctx, cmd, func(store *keys.Store, t tenancy.Tenant) error {
		key, secret, err := store.Roll(ctx, t.ID, tenancy.Operator, cmd.Int64("id"), overlap)
		if err != nil {
			return err
		}
		return c.tellSecret(cmd, t, key, secret)
	}, "STOREROOM_KEY_PEPPERS")
}

// tellSecret prints a new key: the one time that it can be seen.
func (c console) tellSecret(cmd *cli.Command, t tenancy.Tenant, k keys.Key, secret keys.Secret) error {
	answer := newKeyJSON(t.Slug, k)
	answer.Key = secret.Reveal()
	return c.print(cmd, answer, func(w io.Writer) {
		fmt.Fprintf(w, "%s\n\n", answer.Key)
		fmt.Fprintf(w, "Key %d of tenant %s, %q, may %s; %s.\n", k.ID, t.Slug, k.Name, k.Permissions, keyState(k))
		fmt.Fprintln(w, "It cannot be shown again: keep it now.")
	})
}

// parseSpan reads 90d as well as what time.ParseDuration reads.
func parseSpan(s string) (time.Duration, error) {
	if days, found := strings.CutSuffix(s, "d"); found {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(s)
}
