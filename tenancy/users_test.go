package tenancy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

const passphrase = "correct horse battery"

// account is what is stored of a person.
type account struct{ Email, PasswordHash string }

const accounts = `select email, password_hash from users order by email`

func TestAnEmailIsOneAccountInAllTenants(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	a, b := d.MustTenant(t, "a").ID, d.MustTenant(t, "b").ID
	first, err := tenancy.CreateUser(t.Context(), d.Admin, a, "ann@example.com", tenancy.Owner, passphrase)
	if err != nil {
		t.Fatal(err)
	}
	second, err := tenancy.CreateUser(t.Context(), d.Admin, b, "  Ann@Example.COM ", tenancy.Viewer, "another password")
	if err != nil {
		t.Fatal(err)
	}
	want := []tenancy.Member{
		{UserID: first.UserID, Email: "ann@example.com", Role: tenancy.Owner, NewAccount: true},
		{UserID: first.UserID, Email: "ann@example.com", Role: tenancy.Viewer},
	}
	if diff := cmp.Diff(want, []tenancy.Member{first, second}); diff != "" {
		t.Errorf("CreateUser in two tenants (-want +got):\n%s", diff)
	}
	stored := mustRows[account](t, d.MustSuper(t), accounts)
	if len(stored) != 1 || !tenancy.PasswordMatches(stored[0].PasswordHash, passphrase) || tenancy.PasswordMatches(stored[0].PasswordHash, "another password") {
		t.Errorf("users = %v, want one that keeps its first password", stored)
	}
	type membership struct{ Role string }
	for tenant, role := range map[tenancy.ID]string{a: "owner", b: "viewer"} {
		got, err := tenancy.All[membership](t.Context(), d.Admin, tenant, `select role from memberships where tenant_id = $1`, tenant)
		if diff := cmp.Diff([]membership{{role}}, got); diff != "" || err != nil {
			t.Errorf("memberships of tenant %d (-want +got): %v\n%s", tenant, err, diff)
		}
	}
}

func TestAnEmailThatComesTwiceAtOnceIsOneAccount(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	members := make([]tenancy.Member, 4)
	var group errgroup.Group
	for i := range members {
		tenant := d.MustTenant(t, fmt.Sprintf("t%d", i)).ID
		group.Go(func() (err error) {
			members[i], err = tenancy.CreateUser(t.Context(), d.Admin, tenant, "ann@example.com", tenancy.Admin, passphrase)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, m := range members {
		if m.NewAccount {
			made++
		}
		if m.UserID != members[0].UserID {
			t.Errorf("the account is %d for one tenant and %d for another", members[0].UserID, m.UserID)
		}
	}
	if made != 1 {
		t.Errorf("%d of 4 made the account, want 1", made)
	}
}

func TestCreateUserRefusesAMemberOfTheTenant(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	a := d.MustTenant(t, "a").ID
	for i, email := range []string{"ann@example.com", "ANN@example.com"} {
		_, err := tenancy.CreateUser(t.Context(), d.Admin, a, email, tenancy.Admin, passphrase)
		if i > 0 && !errors.Is(err, tenancy.ErrConflict) || i == 0 && err != nil {
			t.Errorf("CreateUser(%s) as number %d = %v, want ErrConflict from the second on", email, i+1, err)
		}
	}
}

func TestCreateUserOfAnAbsentTenantLeavesNoAccount(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	if _, err := tenancy.CreateUser(t.Context(), d.Admin, 404, "ann@example.com", tenancy.Owner, passphrase); err == nil {
		t.Error("CreateUser in no tenant = nil, want an error")
	}
	if stored := mustRows[account](t, d.MustSuper(t), accounts); len(stored) > 0 {
		t.Errorf("users = %v, want none", stored)
	}
}

func TestCreateUserNamesEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	a := d.MustTenant(t, "a").ID
	for _, test := range []struct {
		name, email string
		role        tenancy.Role
		password    string
		fields      []string
	}{
		{"nothing is right", "ann", "king", "short", []string{"email", "role", "password"}},
		{"nothing is given", "", "", "", []string{"email", "role", "password"}},
		{"an e-mail with a name", "Ann <ann@example.com>", tenancy.Owner, passphrase, []string{"email"}},
		{"an e-mail with NUL", "an\x00n@example.com", tenancy.Owner, passphrase, []string{"email"}},
		{"an e-mail that is not UTF-8", "an\xffn@example.com", tenancy.Owner, passphrase, []string{"email"}},
		{"an e-mail with a header", "ann@example.com\r\nBcc: eve@example.com", tenancy.Owner, passphrase, []string{"email"}},
		{"an e-mail of 255 characters", strings.Repeat("a", 243) + "@example.com", tenancy.Owner, passphrase, []string{"email"}},
		{"a role in capitals", "ann@example.com", "OWNER", passphrase, []string{"role"}},
		{"a password of 11 characters", "ann@example.com", tenancy.Owner, "ååååååååååå", []string{"password"}},
		{"a password of 129 characters", "ann@example.com", tenancy.Owner, strings.Repeat("x", 129), []string{"password"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := tenancy.CreateUser(t.Context(), d.Admin, a, test.email, test.role, test.password)
			mustBeInvalid(t, err, test.fields...)
		})
	}
	if stored := mustRows[account](t, d.MustSuper(t), accounts); len(stored) > 0 {
		t.Errorf("users = %v, want none", stored)
	}
}

func TestAPasswordMatchesItsOwnHashOnly(t *testing.T) {
	t.Parallel()
	hash := tenancy.HashPassword(passphrase)
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") || strings.Contains(hash, passphrase) {
		t.Errorf("HashPassword = %q, want a PHC string of argon2id", hash)
	}
	if hash == tenancy.HashPassword(passphrase) {
		t.Error("two hashes of a password are equal: the salt is not fresh")
	}
	if !tenancy.PasswordMatches(hash, passphrase) {
		t.Error("PasswordMatches(own) = false")
	}
	for _, wrong := range []string{"", passphrase + " ", strings.ToUpper(passphrase), "correct horse"} {
		if tenancy.PasswordMatches(hash, wrong) {
			t.Errorf("PasswordMatches(%q) = true", wrong)
		}
	}
}

func TestAPasswordMatchesAHashOfAnotherCost(t *testing.T) {
	t.Parallel()
	// A vector of argon2's reference implementation.
	const cheap = "$argon2id$v=19$m=64,t=2,p=2$c29tZXNhbHQ$NQrDciL0Nsy1wJcvHr079rlYvyBxhBNi"
	if !tenancy.PasswordMatches(cheap, "password") || tenancy.PasswordMatches(cheap, "Password") {
		t.Errorf("PasswordMatches(%q) does not tell password from Password", cheap)
	}
}

const (
	aSalt = "c29tZXNhbHRzb21lc2FsdA"
	aSum  = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)

// Whatever stands in the column, a sign-in answers no: argon2 itself panics without
// passes, and gives an empty sum to whoever asks for one.
func TestNoPasswordMatchesAMalformedHash(t *testing.T) {
	t.Parallel()
	valid := tenancy.HashPassword("")
	for _, phc := range []string{
		"", "$", "$$$$$", "x", "plain text",
		strings.TrimPrefix(valid, "$"), valid + "$", valid + "=", "$" + valid, valid[:len(valid)-1] + "!",
		strings.Replace(valid, "argon2id", "argon2i", 1), strings.Replace(valid, "argon2id", "argon2d", 1),
		strings.Replace(valid, "v=19", "v=16", 1), strings.Replace(valid, "v=19", "v=0", 1),
		strings.Replace(valid, "t=2", "t=+2", 1), strings.Replace(valid, "t=2", "t=02", 1), strings.Replace(valid, "p=1", "p=1,x=1", 1),
		"$argon2id$v=19$m=19456,t=0,p=1$" + aSalt + "$" + aSum,
		"$argon2id$v=19$m=19456,t=-1,p=1$" + aSalt + "$" + aSum,
		"$argon2id$v=19$m=19456,t=4294967297,p=1$" + aSalt + "$" + aSum,
		"$argon2id$v=19$m=19456,t=1000000,p=1$" + aSalt + "$" + aSum,
		"$argon2id$v=19$m=19456,t=2,p=0$" + aSalt + "$" + aSum,
		"$argon2id$v=19$m=19456,t=2,p=256$" + aSalt + "$" + aSum,
		"$argon2id$v=19$m=0,t=2,p=1$" + aSalt + "$" + aSum,
		"$argon2id$v=19$m=4294967295,t=2,p=1$" + aSalt + "$" + aSum,
		"$argon2id$v=19$m=99999999999999999999,t=2,p=1$" + aSalt + "$" + aSum,
		"$argon2id$v=19$m=19456,t=2,p=1$$" + aSum,
		"$argon2id$v=19$m=19456,t=2,p=1$" + aSalt + "$",
		"$argon2id$v=19$m=19456,t=2,p=1$$",
		"$argon2id$v=19$m=19456,t=2,p=1$" + aSalt + "$AAAA",
		"$argon2id$v=19$m=19456,t=2,p=1$" + aSalt + "$" + strings.Repeat("A", 1<<20),
		"$argon2id$v=19$m=19456,t=2,p=1$?$" + aSum,
	} {
		if tenancy.PasswordMatches(phc, "") {
			t.Errorf("PasswordMatches(%.80q) = true", phc)
		}
	}
}

func FuzzPasswordMatches(f *testing.F) {
	f.Add("$argon2id$v=19$m=8,t=1,p=1$" + aSalt + "$" + aSum)
	f.Add("$argon2id$v=19$m=8,t=0,p=0$$")
	f.Fuzz(func(t *testing.T, phc string) {
		if tenancy.PasswordMatches(phc, passphrase) {
			t.Errorf("PasswordMatches(%q) = true", phc)
		}
	})
}
