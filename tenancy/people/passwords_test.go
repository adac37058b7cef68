package people

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

// account is what is stored of a person.
type account struct{ Email, PasswordHash string }

const accounts = `select email, password_hash from users order by email`

// An owner could have created the account for an e-mail address of another person, with an
// invitation that the owner accepted. It must get no role elsewhere without its password.
func TestCreateMemberRefusesAnExistingAccount(t *testing.T) {
	t.Parallel()
	s := mustStreet(t)
	squatted := must(t)(s.Invite(t.Context(), s.a.ID, s.by(t), "", "ceo@example.com", Viewer))
	must(t)(s.Use(t.Context(), squatted, password, ""))
	before := s.state(t)
	for _, email := range []string{"ceo@example.com", "  Amy@Example.COM ", "bea@example.com"} {
		_, err := New(s.Admin).CreateMember(t.Context(), s.b.ID, email, Owner, "another good password")
		if !errors.Is(err, tenancy.ErrConflict) {
			t.Errorf("CreateMember(%s) = %v, want ErrConflict", email, err)
		}
	}
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Errorf("something changed (-before +after):\n%s", diff)
	}
}

func TestConcurrentCreateMemberCreatesOneAccount(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	errs := make([]error, 4)
	var group sync.WaitGroup
	for i := range errs {
		tenant := d.MustTenant(t, fmt.Sprintf("t%d", i)).ID
		group.Go(func() {
			_, errs[i] = New(d.Admin).CreateMember(t.Context(), tenant, "ann@example.com", Admin, password)
		})
	}
	group.Wait()
	created := 0
	for _, err := range errs {
		if err == nil {
			created++
		} else if !errors.Is(err, tenancy.ErrConflict) {
			t.Errorf("CreateMember = %v, want ErrConflict", err)
		}
	}
	if created != 1 {
		t.Errorf("%d of 4 created the account, want 1", created)
	}
}

func TestCreateMemberOfAnAbsentTenantLeavesNoAccount(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	if _, err := New(d.Admin).CreateMember(t.Context(), 404, "ann@example.com", Owner, password); err == nil {
		t.Error("CreateMember in no tenant = nil, want an error")
	}
	if stored := mustRows[account](t, d.MustSuper(t), accounts); len(stored) > 0 {
		t.Errorf("users = %v, want none", stored)
	}
}

func TestCreateMemberNamesEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	a := d.MustTenant(t, "a").ID
	for _, test := range []struct {
		name, email string
		role        Role
		password    string
		fields      []string
	}{
		{"nothing is right", "ann", "king", "short", []string{"email", "role", "password"}},
		{"nothing is given", "", "", "", []string{"email", "role", "password"}},
		{"an e-mail with a name", "Ann <ann@example.com>", Owner, password, []string{"email"}},
		{"an e-mail with NUL", "an\x00n@example.com", Owner, password, []string{"email"}},
		{"an e-mail that is not UTF-8", "an\xffn@example.com", Owner, password, []string{"email"}},
		{"an e-mail with a header", "ann@example.com\r\nBcc: eve@example.com", Owner, password, []string{"email"}},
		{"an e-mail of 255 characters", strings.Repeat("a", 243) + "@example.com", Owner, password, []string{"email"}},
		{"a role in capitals", "ann@example.com", "OWNER", password, []string{"role"}},
		{"a password of 11 characters", "ann@example.com", Owner, "ååååååååååå", []string{"password"}},
		{"a common password", "ann@example.com", Owner, "qwerty123456", []string{"password"}},
		{"a common password in capitals", "ann@example.com", Owner, "PasswordPassword", []string{"password"}},
		{"a password of 129 characters", "ann@example.com", Owner, strings.Repeat("x", 129), []string{"password"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := New(d.Admin).CreateMember(t.Context(), a, test.email, test.role, test.password)
			invalid, _ := errors.AsType[tenancy.InvalidError](err)
			if diff := cmp.Diff(slices.Sorted(slices.Values(test.fields)), slices.Sorted(maps.Keys(invalid))); diff != "" {
				t.Errorf("CreateMember names the fields (-want +got):\n%s", diff)
			}
		})
	}
	if stored := mustRows[account](t, d.MustSuper(t), accounts); len(stored) > 0 {
		t.Errorf("users = %v, want none", stored)
	}
}

func TestAPasswordMatchesItsOwnHashOnly(t *testing.T) {
	t.Parallel()
	hash := HashPassword(password)
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") || strings.Contains(hash, password) {
		t.Errorf("HashPassword = %q, want a PHC string of argon2id", hash)
	}
	if hash == HashPassword(password) {
		t.Error("two hashes of a password are equal: the salt is not fresh")
	}
	if !PasswordMatches(hash, password) {
		t.Error("PasswordMatches(own) = false")
	}
	for _, wrong := range []string{"", password + " ", strings.ToUpper(password), "correct horse"} {
		if PasswordMatches(hash, wrong) {
			t.Errorf("PasswordMatches(%q) = true", wrong)
		}
	}
}

func TestAPasswordMatchesAHashOfAnotherCost(t *testing.T) {
	t.Parallel()
	// A vector of argon2's reference implementation.
	const cheap = "$argon2id$v=19$m=64,t=2,p=2$c29tZXNhbHQ$NQrDciL0Nsy1wJcvHr079rlYvyBxhBNi"
	if !PasswordMatches(cheap, "password") || PasswordMatches(cheap, "Password") {
		t.Errorf("PasswordMatches(%q) does not tell password from Password", cheap)
	}
}

const (
	aSalt = "c29tZXNhbHRzb21lc2FsdA"
	aSum  = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)

// A malformed hash never matches. argon2 panics with zero passes and returns an empty hash
// for a length of zero, so both must be refused before.
func TestNoPasswordMatchesAMalformedHash(t *testing.T) {
	t.Parallel()
	valid := HashPassword("")
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
		if PasswordMatches(phc, "") {
			t.Errorf("PasswordMatches(%.80q) = true", phc)
		}
	}
}

func FuzzPasswordMatches(f *testing.F) {
	f.Add("$argon2id$v=19$m=8,t=1,p=1$" + aSalt + "$" + aSum)
	f.Add("$argon2id$v=19$m=8,t=0,p=0$$")
	f.Fuzz(func(t *testing.T, phc string) {
		if PasswordMatches(phc, password) {
			t.Errorf("PasswordMatches(%q) = true", phc)
		}
	})
}
