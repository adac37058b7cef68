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

	"github.com/storeroom/storeroom/api/pages"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

// maxPasswordInput is the number of bytes to read. It exceeds the longest valid password.
const maxPasswordInput = 4096

func (c console) userCommand() *cli.Command {
	email := func() cli.Flag { return requiredFlag("email", "e-mail address") }
	role := func() cli.Flag { return requiredFlag("role", "owner, admin, viewer, accountant or clerk") }
	return &cli.Command{
		Name:  "user",
		Usage: "manage the members of a tenant and their roles",
		Commands: []*cli.Command{
			c.operatorCommand("create", "create an account with a password and make it a member", createUser,
				describe("storeroom user create --tenant acme --email ann@example.com --role owner --password-stdin < FILE",
					"For an e-mail address that already has an account, use `storeroom user invite`."),
				tenantFlag(), email(), role(),
				&cli.BoolFlag{Name: "password-stdin", Usage: "read the password from standard input (required)", Required: true}),
			c.operatorCommand("invite", "print a link that makes a person a member", inviteUser,
				describe("storeroom user invite --tenant acme --email ann@example.com --role owner",
					"The link works once, for 24 hours, and cannot be shown again. An existing account needs its password."),
				tenantFlag(), email(), role()),
			c.operatorCommand("reset", "print a link with which a person sets a new password", resetUser,
				describe("storeroom user reset --email ann@example.com",
					"The link works once, for 24 hours, and cannot be shown again."),
				email()),
			c.operatorCommand("list", "list the members of a tenant and the pending links", listUsers,
				describe("storeroom user list --tenant acme"),
				tenantFlag()),
			c.operatorCommand("revoke-link", "revoke a pending link", revokeLink,
				describe("storeroom user revoke-link --tenant acme --email ann@example.com",
					"With --tenant: the links of a person into that tenant. Without: a link of `user reset`."),
				stringFlag("tenant", "slug of the tenant"), email()),
			c.operatorCommand("role", "change the role of a member", changeRole,
				describe("storeroom user role --tenant acme --email ann@example.com --role viewer"),
				tenantFlag(), email(), role()),
			c.operatorCommand("remove", "remove a member from a tenant", removeUser,
				describe("storeroom user remove --tenant acme --email ann@example.com",
					"The webhooks that the member made are paused, unless --keep-webhooks is given."),
				tenantFlag(), email(), keepWebhooksFlag()),
		},
	}
}

func (o operation) people() *people.Store { return people.New(o.db) }

func (o operation) role() people.Role { return people.Role(o.cmd.String("role")) }

// memberError names the flag and the tenant in errors of the store.
func (o operation) memberError(err error) error {
	email := people.Account(o.cmd.String("email"))
	switch {
	case errors.Is(err, tenancy.ErrNotFound):
		return fmt.Errorf("--email: %s is not a member of tenant %s", email, o.tenant.Slug)
	case errors.Is(err, tenancy.ErrConflict):
		return fmt.Errorf("--email: %s is already a member of tenant %s", email, o.tenant.Slug)
	case errors.Is(err, people.ErrLastOwner):
		return fmt.Errorf("--email: %s is the last owner of tenant %s: make another member an owner first",
			email, o.tenant.Slug)
	}
	return err
}

func createUser(ctx context.Context, o operation) error {
	password, err := readPassword(o.stdin)
	if err != nil {
		return err
	}
	m, err := o.people().CreateMember(ctx, o.tenant.ID, o.cmd.String("email"), o.role(), password)
	if errors.Is(err, tenancy.ErrConflict) {
		return fmt.Errorf("--email: %s already has an account: use `storeroom user invite`", m.Email)
	}
	if err != nil {
		return err
	}
	result := struct {
		UserID int64       `json:"user_id"`
		Email  string      `json:"email"`
		Tenant string      `json:"tenant"`
		Role   people.Role `json:"role"`
	}{m.UserID, m.Email, o.tenant.Slug, m.Role}
	return o.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "%s is now %s of tenant %s\n", m.Email, m.Role, o.tenant.Slug)
	})
}

// readPassword returns the first line without its line break.
func readPassword(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, maxPasswordInput)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), nil
}

func inviteUser(ctx context.Context, o operation) error {
	err := o.printLink("become a member of "+o.tenant.Slug, func(email string) (people.Token, error) {
		return o.people().Invite(ctx, o.tenant.ID, tenancy.Operator, "", email, o.role())
	})
	return o.memberError(err)
}

func resetUser(ctx context.Context, o operation) error {
	err := o.printLink("set a new password", func(email string) (people.Token, error) {
		return o.people().ResetAnywhere(ctx, email)
	})
	if errors.Is(err, tenancy.ErrNotFound) {
		return fmt.Errorf("--email: %s has no account", o.cmd.String("email"))
	}
	return err
}

// printLink creates a link and prints it. It creates none if the public URL is not known.
func (o operation) printLink(purpose string, create func(email string) (people.Token, error)) error {
	base, err := o.cfg.PublicURL(o.cfg.Addr)
	if err != nil {
		return err
	}
	token, err := create(o.cmd.String("email"))
	if err != nil {
		return err
	}
	if o.cfg.BaseURL == nil {
		fmt.Fprintln(o.stderr, "warning: STOREROOM_BASE_URL is not set: the link works only on this machine")
	}
	result := struct {
		Email  string `json:"email"`
		Tenant string `json:"tenant,omitempty"` // of an invitation
		Link   string `json:"link"`
	}{people.Account(o.cmd.String("email")), o.tenant.Slug, pages.LinkURL(base, token)}
	return o.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "%s\n\n", result.Link)
		fmt.Fprintf(w, "Send this link to %s, to %s. It works once, for 24 hours, and cannot be shown again.\n",
			result.Email, purpose)
	})
}

func revokeLink(ctx context.Context, o operation) error {
	email := people.Account(o.cmd.String("email"))
	var err error
	if o.cmd.IsSet("tenant") {
		if err = o.people().EndLinksOf(ctx, o.tenant.ID, email); errors.Is(err, tenancy.ErrNotFound) {
			return fmt.Errorf("--email: %s has no link into tenant %s", email, o.tenant.Slug)
		}
	} else {
		if err = o.people().EndResetAnywhere(ctx, email); errors.Is(err, tenancy.ErrNotFound) {
			return fmt.Errorf("--email: %s has no link of `user reset`; give --tenant for a link into a tenant", email)
		}
	}
	if err != nil {
		return err
	}
	result := struct {
		Email   string `json:"email"`
		Tenant  string `json:"tenant,omitempty"`
		Revoked bool   `json:"revoked"`
	}{email, o.tenant.Slug, true}
	return o.print(result, func(w io.Writer) { fmt.Fprintf(w, "revoked the link of %s\n", email) })
}

// memberJSON is the JSON form of a member.
type memberJSON struct {
	UserID    int64       `json:"user_id"`
	Email     string      `json:"email"`
	Role      people.Role `json:"role"`
	CreatedAt time.Time   `json:"created_at"`
}

// linkJSON is the JSON form of a pending link.
type linkJSON struct {
	Purpose   string       `json:"purpose"` // invitation or reset
	Email     string       `json:"email"`
	Role      *people.Role `json:"role,omitempty"` // of an invitation
	MadeBy    string       `json:"made_by"`        // e-mail address, or operator
	CreatedAt time.Time    `json:"created_at"`
	ExpiresAt time.Time    `json:"expires_at"`
}

type usersJSON struct {
	Members []memberJSON `json:"members"`
	Links   []linkJSON   `json:"links"`
}

func listUsers(ctx context.Context, o operation) error {
	members, err := o.people().Members(ctx, o.tenant.ID, tenancy.Operator)
	if err != nil {
		return err
	}
	links, err := o.people().Links(ctx, o.tenant.ID, tenancy.Operator)
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
	return o.print(all, all.write)
}

// write writes two tables. It omits the second if there are no links.
func (u usersJSON) write(w io.Writer) {
	fmt.Fprintln(w, "ID\tE-MAIL\tROLE\tMEMBER SINCE")
	for _, m := range u.Members {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", m.UserID, m.Email, m.Role, date(&m.CreatedAt))
	}
	if len(u.Links) == 0 {
		return
	}
	fmt.Fprintln(w, "\nPENDING LINK\tE-MAIL\tROLE\tCREATED BY\tCREATED\tEXPIRES")
	for _, l := range u.Links {
		role := "-"
		if l.Role != nil {
			role = string(*l.Role)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", l.Purpose, l.Email, role, l.MadeBy, date(&l.CreatedAt), date(&l.ExpiresAt))
	}
}

func changeRole(ctx context.Context, o operation) error {
	return o.changeMember(ctx, "is now "+string(o.role())+" of", func(user int64) error {
		return o.people().ChangeRole(ctx, o.tenant.ID, tenancy.Operator, user, o.role())
	})
}

func removeUser(ctx context.Context, o operation) error {
	return o.changeMember(ctx, "is no longer a member of", func(user int64) error {
		if o.cmd.Bool(keepWebhooks) {
			return o.people().RemoveAndKeep(ctx, o.tenant.ID, tenancy.Operator, user)
		}
		return o.people().Remove(ctx, o.tenant.ID, tenancy.Operator, user)
	})
}

// changeMember finds the member of --email, calls change and prints the result.
func (o operation) changeMember(ctx context.Context, done string, change func(user int64) error) error {
	members, err := o.people().Members(ctx, o.tenant.ID, tenancy.Operator)
	if err != nil {
		return err
	}
	email := people.Account(o.cmd.String("email"))
	i := slices.IndexFunc(members, func(m people.Member) bool { return m.Email == email })
	if i < 0 {
		return o.memberError(tenancy.ErrNotFound)
	}
	if err := change(members[i].UserID); err != nil {
		return o.memberError(err)
	}
	result := struct {
		UserID int64       `json:"user_id"`
		Email  string      `json:"email"`
		Tenant string      `json:"tenant"`
		Role   people.Role `json:"role,omitempty"` // empty after removal
	}{members[i].UserID, email, o.tenant.Slug, o.role()}
	return o.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "%s %s tenant %s; their sessions have ended\n", email, done, o.tenant.Slug)
	})
}
