package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/api/settings"
	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

// maxPassword is more than any password may have, in bytes.
const maxPassword = 4096

func (c console) userCommand() *cli.Command {
	tenant, email := stringFlag("tenant", "slug of the tenant"), stringFlag("email", "the person's e-mail address")
	role := stringFlag("role", "owner, admin or viewer")
	return &cli.Command{
		Name:  "user",
		Usage: "let people into a tenant, and out again",
		Commands: []*cli.Command{
			{Name: "create", Usage: "make a person a member of a tenant", Action: c.createUser, Flags: []cli.Flag{
				tenant, email, role,
				&cli.BoolFlag{Name: "password-stdin", Usage: "read the password from standard input"},
				jsonFlag(),
			}},
			{Name: "invite", Usage: "print a link by which a person becomes a member, this once", Action: c.inviteUser, Flags: []cli.Flag{tenant, email, role, jsonFlag()}},
			{Name: "reset", Usage: "print a link by which a person chooses another password, this once", Action: c.resetUser, Flags: []cli.Flag{email, jsonFlag()}},
			{Name: "list", Usage: "list the members of a tenant and the links that nobody has used yet", Action: c.listUsers, Flags: []cli.Flag{tenant, jsonFlag()}},
			{Name: "revoke-link", Usage: "end the link of a person into a tenant; without --tenant, of user reset", Action: c.revokeLink, Flags: []cli.Flag{tenant, email, jsonFlag()}},
			{Name: "role", Usage: "give a member another role", Action: c.changeRole, Flags: []cli.Flag{tenant, email, role, jsonFlag()}},
			{Name: "remove", Usage: "take a member out of a tenant", Action: c.removeUser, Flags: []cli.Flag{tenant, email, jsonFlag()}},
		},
	}
}

// withPeople opens what the user commands of a tenant need, finds the tenant and puts
// what they refuse into words.
func (c console) withPeople(ctx context.Context, cmd *cli.Command, f func(*people.Store, tenancy.Tenant, config.Config) error) error {
	return c.withTenant(ctx, cmd, func(db *tenancy.DB, tenant tenancy.Tenant, cfg config.Config) error {
		err := f(people.New(db), tenant, cfg)
		switch email := cmd.String("email"); {
		case errors.Is(err, tenancy.ErrNotFound):
			return fmt.Errorf("--email: %s is no member of tenant %s", email, tenant.Slug)
		case errors.Is(err, tenancy.ErrConflict):
			return fmt.Errorf("--email: %s is a member of tenant %s already", email, tenant.Slug)
		case errors.Is(err, people.ErrLastOwner):
			return fmt.Errorf("--email: %s is the last owner of tenant %s: make somebody else an owner first", email, tenant.Slug)
		}
		return err
	})
}

func (c console) createUser(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "tenant", "email", "role", "password-stdin"); err != nil {
		return err
	}
	password, err := readPassword(c.stdin)
	if err != nil {
		return err
	}
	db, _, err := c.openAdmin(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	tenant, err := findTenant(ctx, db, "tenant", cmd.String("tenant"))
	if err != nil {
		return err
	}
	member, err := people.New(db).CreateMember(ctx, tenant.ID, cmd.String("email"), people.Role(cmd.String("role")), password)
	if errors.Is(err, tenancy.ErrConflict) {
		return fmt.Errorf("--email: %s is a member of tenant %s already", member.Email, tenant.Slug)
	}
	if err != nil {
		return err
	}
	return c.tellMember(cmd, tenant, member)
}

func (c console) tellMember(cmd *cli.Command, tenant tenancy.Tenant, m people.Member) error {
	answer := struct {
		UserID     int64       `json:"user_id"`
		Email      string      `json:"email"`
		Tenant     string      `json:"tenant"`
		Role       people.Role `json:"role"`
		NewAccount bool        `json:"new_account"`
	}{m.UserID, m.Email, tenant.Slug, m.Role, m.NewAccount}
	return c.print(cmd, answer, func(w io.Writer) {
		fmt.Fprintf(w, "%s is %s of tenant %s now\n", m.Email, m.Role, tenant.Slug)
		if !m.NewAccount {
			fmt.Fprintln(w, "The account was there already and keeps its password.")
		}
	})
}

func (c console) inviteUser(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "tenant", "email", "role"); err != nil {
		return err
	}
	return c.withPeople(ctx, cmd, func(store *people.Store, t tenancy.Tenant, cfg config.Config) error {
		return c.tellLink(cmd, cfg, t.Slug, "become a member of "+t.Slug, func() (people.Token, error) {
			return store.Invite(ctx, t.ID, tenancy.Operator, "", cmd.String("email"), people.Role(cmd.String("role")))
		})
	})
}

func (c console) resetUser(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "email"); err != nil {
		return err
	}
	db, cfg, err := c.openAdmin(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	err = c.tellLink(cmd, cfg, "", "choose another password", func() (people.Token, error) {
		return people.New(db).ResetAnywhere(ctx, cmd.String("email"))
	})
	if errors.Is(err, tenancy.ErrNotFound) {
		return fmt.Errorf("--email: %s has no account", cmd.String("email"))
	}
	return err
}

// tellLink prints a link: the one time that it can be seen. Where it cannot be
// known what a browser would open, no link is made.
func (c console) tellLink(cmd *cli.Command, cfg config.Config, tenant, purpose string, link func() (people.Token, error)) error {
	base, err := cfg.PublicURL(cfg.Addr)
	if err != nil {
		return err
	}
	token, err := link()
	if err != nil {
		return err
	}
	answer := struct {
		Email  string `json:"email"`
		Tenant string `json:"tenant,omitempty"` // of an invitation
		Link   string `json:"link"`
	}{people.Account(cmd.String("email")), tenant, settings.LinkURL(base, token)}
	return c.print(cmd, answer, func(w io.Writer) {
		fmt.Fprintf(w, "%s\n\n", answer.Link)
		fmt.Fprintf(w, "Pass it on to %s, to %s. It works once, for 24 hours, and cannot be shown again.\n", answer.Email, purpose)
	})
}

func (c console) revokeLink(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "email"); err != nil {
		return err
	}
	email := people.Account(cmd.String("email"))
	if !cmd.IsSet("tenant") {
		return c.revokeReset(ctx, cmd, email)
	}
	return c.withTenant(ctx, cmd, func(db *tenancy.DB, t tenancy.Tenant, _ config.Config) error {
		err := people.New(db).EndLinksOf(ctx, t.ID, email)
		if errors.Is(err, tenancy.ErrNotFound) {
			return fmt.Errorf("--email: %s has no link into tenant %s", cmd.String("email"), t.Slug)
		}
		return c.tellRevoked(cmd, t.Slug, email, err)
	})
}

func (c console) revokeReset(ctx context.Context, cmd *cli.Command, email string) error {
	db, _, err := c.openAdmin(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	err = people.New(db).EndResetAnywhere(ctx, email)
	if errors.Is(err, tenancy.ErrNotFound) {
		return fmt.Errorf("--email: %s has no link of user reset; give --tenant for one into a tenant", cmd.String("email"))
	}
	return c.tellRevoked(cmd, "", email, err)
}

func (c console) tellRevoked(cmd *cli.Command, tenant, email string, err error) error {
	if err != nil {
		return err
	}
	answer := struct {
		Email   string `json:"email"`
		Tenant  string `json:"tenant,omitempty"`
		Revoked bool   `json:"revoked"`
	}{email, tenant, true}
	return c.print(cmd, answer, func(w io.Writer) { fmt.Fprintf(w, "the link of %s opens nothing any more\n", email) })
}

// memberJSON is a member as scripts read it.
type memberJSON struct {
	UserID    int64       `json:"user_id"`
	Email     string      `json:"email"`
	Role      people.Role `json:"role"`
	CreatedAt time.Time   `json:"created_at"`
}

// linkJSON is a pending link as scripts read it.
type linkJSON struct {
	Purpose   string       `json:"purpose"` // invitation or reset
	Email     string       `json:"email"`
	Role      *people.Role `json:"role,omitempty"` // of an invitation
	MadeBy    string       `json:"made_by"`        // an e-mail, or operator
	CreatedAt time.Time    `json:"created_at"`
	ExpiresAt time.Time    `json:"expires_at"`
}

// usersJSON is who may come into a tenant.
type usersJSON struct {
	Members []memberJSON `json:"members"`
	Links   []linkJSON   `json:"links"`
}

func (c console) listUsers(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "tenant"); err != nil {
		return err
	}
	return c.withPeople(ctx, cmd, func(store *people.Store, t tenancy.Tenant, _ config.Config) error {
		members, err := store.Members(ctx, t.ID, tenancy.Operator)
		if err != nil {
			return err
		}
		links, err := store.Links(ctx, t.ID, tenancy.Operator)
		if err != nil {
			return err
		}
		all := usersJSON{make([]memberJSON, len(members)), make([]linkJSON, len(links))}
		for i, m := range members {
			all.Members[i] = memberJSON{m.UserID, m.Email, m.Role, m.CreatedAt.UTC()}
		}
		for i, l := range links {
			all.Links[i] = linkJSON{l.Purpose, l.Email, l.Role, l.MadeBy, l.CreatedAt.UTC(), l.ExpiresAt.UTC()}
		}
		return c.print(cmd, all, all.print)
	})
}

// print writes two tables, the second only where there are links.
func (u usersJSON) print(w io.Writer) {
	fmt.Fprintln(w, "ID\tE-MAIL\tROLE\tSINCE")
	for _, m := range u.Members {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", m.UserID, m.Email, m.Role, date(&m.CreatedAt))
	}
	if len(u.Links) == 0 {
		return
	}
	fmt.Fprintln(w, "\nPENDING LINK\tFOR\tROLE\tMADE BY\tMADE\tENDS")
	for _, l := range u.Links {
		role := "-"
		if l.Role != nil {
			role = string(*l.Role)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", l.Purpose, l.Email, role, l.MadeBy, date(&l.CreatedAt), date(&l.ExpiresAt))
	}
}

func (c console) changeRole(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "tenant", "email", "role"); err != nil {
		return err
	}
	return c.changeUser(ctx, cmd, "is "+cmd.String("role")+" of", func(store *people.Store, t tenancy.ID, user int64) error {
		return store.ChangeRole(ctx, t, tenancy.Operator, user, people.Role(cmd.String("role")))
	})
}

func (c console) removeUser(ctx context.Context, cmd *cli.Command) error {
	if err := require(cmd, "tenant", "email"); err != nil {
		return err
	}
	return c.changeUser(ctx, cmd, "is no member of", func(store *people.Store, t tenancy.ID, user int64) error {
		return store.Remove(ctx, t, tenancy.Operator, user)
	})
}

// changeUser does something to the member of the e-mail and tells what has become.
func (c console) changeUser(ctx context.Context, cmd *cli.Command, become string, change func(*people.Store, tenancy.ID, int64) error) error {
	return c.withPeople(ctx, cmd, func(store *people.Store, t tenancy.Tenant, _ config.Config) error {
		members, err := store.Members(ctx, t.ID, tenancy.Operator)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(members, func(m people.Member) bool { return m.Email == people.Account(cmd.String("email")) })
		if i < 0 {
			return tenancy.ErrNotFound
		}
		m := members[i]
		if err := change(store, t.ID, m.UserID); err != nil {
			return err
		}
		answer := struct {
			UserID int64  `json:"user_id"`
			Email  string `json:"email"`
			Tenant string `json:"tenant"`
			Role   string `json:"role,omitempty"` // of who is a member still
		}{m.UserID, m.Email, t.Slug, cmd.String("role")}
		return c.print(cmd, answer, func(w io.Writer) {
			fmt.Fprintf(w, "%s %s tenant %s now; their sessions have ended\n", m.Email, become, t.Slug)
		})
	})
}

// readPassword takes the first line, without its end.
func readPassword(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, maxPassword)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), nil
}
