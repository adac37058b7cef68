package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/tenancy"
)

// maxPassword is more than any password may have, in bytes.
const maxPassword = 4096

func (c console) userCommand() *cli.Command {
	return &cli.Command{
		Name:  "user",
		Usage: "let people into a tenant",
		Commands: []*cli.Command{{
			Name: "create", Usage: "make a person a member of a tenant", Action: c.createUser, Flags: []cli.Flag{
				stringFlag("tenant", "slug of the tenant"),
				stringFlag("email", "the person's e-mail address"),
				stringFlag("role", "owner, admin or viewer"),
				&cli.BoolFlag{Name: "password-stdin", Usage: "read the password from standard input"},
				jsonFlag(),
			},
		}},
	}
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
	member, err := tenancy.CreateUser(ctx, db, tenant.ID, cmd.String("email"), tenancy.Role(cmd.String("role")), password)
	if errors.Is(err, tenancy.ErrConflict) {
		return fmt.Errorf("--email: %s is a member of tenant %s already", member.Email, tenant.Slug)
	}
	if err != nil {
		return err
	}
	return c.tellMember(cmd, tenant, member)
}

func (c console) tellMember(cmd *cli.Command, tenant tenancy.Tenant, m tenancy.Member) error {
	answer := struct {
		UserID     int64        `json:"user_id"`
		Email      string       `json:"email"`
		Tenant     string       `json:"tenant"`
		Role       tenancy.Role `json:"role"`
		NewAccount bool         `json:"new_account"`
	}{m.UserID, m.Email, tenant.Slug, m.Role, m.NewAccount}
	return c.answer(cmd, answer, func(w io.Writer) {
		fmt.Fprintf(w, "%s is %s of tenant %s now\n", m.Email, m.Role, tenant.Slug)
		if !m.NewAccount {
			fmt.Fprintln(w, "The account was there already and keeps its password.")
		}
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
