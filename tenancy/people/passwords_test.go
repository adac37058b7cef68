package people

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// An owner could have created the account for an e-mail address of another person, with an
// invitation that the owner accepted. It must get no role elsewhere without its password.
func TestCreateMemberRefusesAnExistingAccount(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	squatted := must(t)(s.Invite(t.Context(), s.a.ID, s.by(t), "", "ceo@example.com", Viewer))
	must(t)(s.UseLink(t.Context(), squatted, password, ""))
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
	d := dbtest.New(t)
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

type account struct{ Email string }

func TestCreateMemberOfAnAbsentTenantLeavesNoAccount(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	if _, err := New(d.Admin).CreateMember(t.Context(), 404, "ann@example.com", Owner, password); err == nil {
		t.Error("CreateMember in no tenant = nil, want an error")
	}
	if stored := mustRows[account](t, d.MustSuper(t), `select email from users`); len(stored) > 0 {
		t.Errorf("users = %v, want none", stored)
	}
}

func TestCreateMemberReportsAllErrorsTogether(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
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
	if stored := mustRows[account](t, d.MustSuper(t), `select email from users`); len(stored) > 0 {
		t.Errorf("users = %v, want none", stored)
	}
}

// A proof is the Argon2id hash, and the database stores only the proof's SHA-256.
func TestTheDatabaseStoresNoProof(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	proofs, err := s.proofs(t.Context(), "ann@example.com", password, password+" ", "", strings.Repeat("x", 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	state := s.state(t)
	for i, proof := range proofs {
		verifier := sha256.Sum256(proof)
		if got := strings.Contains(state, hex.EncodeToString(verifier[:])); got != (i == 0) {
			t.Errorf("the verifier of password %d is stored: %t", i, got)
		}
		if len(proof) != 32 || strings.Contains(state, hex.EncodeToString(proof)) {
			t.Errorf("proof %d has %d bytes or is stored", i, len(proof))
		}
	}
}

// The parameters of an e-mail address show neither whether it has an account nor when it
// gets one.
func TestEveryEmailHasASalt(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	parameters := func(email string) string {
		t.Helper()
		found, err := db.Call[struct{ P string }](t.Context(), s.DB, `select password_parameters($1) as p`, email)
		if err != nil {
			t.Fatal(err)
		}
		return found[0].P
	}
	form := regexp.MustCompile(`^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}$`)
	before := parameters("New@Example.com")
	seen := map[string]string{}
	for _, email := range []string{"ann@example.com", "amy@example.com", "new@example.com", "nobody@example.com", ""} {
		got := parameters(email)
		isNew := !slices.Contains(slices.Collect(maps.Values(seen)), got)
		if !form.MatchString(got) || !isNew || got != parameters(email) {
			t.Errorf("the parameters of %q are %s, want a salt of its own that stays", email, got)
		}
		seen[email] = got
	}
	s.mustMember(t, s.a, "new@example.com", Viewer)
	s.exec(t, `update schema_migrations set salt_secret = sha256('another') where version = 1`)
	s.mustSignIn(t, "new@example.com", password)
	if parameters("nobody@example.com") == seen["nobody@example.com"] {
		t.Error("the salt of an unknown address does not depend on the secret")
	}
	if got := parameters("new@example.com"); got != before {
		t.Errorf("a new account changes the parameters from %s to %s", before, got)
	}
}

func TestDeriveIsArgon2id(t *testing.T) {
	t.Parallel()
	// A vector of argon2's reference implementation.
	const parameters = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ"
	const want = "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe"
	got, err := derive(parameters, "password")
	if err != nil || hex.EncodeToString(got) != want {
		t.Errorf("derive = %x, %v, want %s", got, err, want)
	}
}

const aSalt = "c29tZXNhbHRzb21lc2FsdA"

// argon2 panics with zero passes and allocates gigabytes for some costs.
func TestDeriveRefusesInvalidParameters(t *testing.T) {
	t.Parallel()
	const valid = "$argon2id$v=19$m=64,t=1,p=1$" + aSalt
	if _, err := derive(valid, ""); err != nil {
		t.Fatal(err)
	}
	for _, parameters := range []string{
		"", "$", "$$$$$", "x", "plain text", valid + "$", valid + "=", "$" + valid, valid[1:], valid[:len(valid)-1] + "!",
		strings.Replace(valid, "argon2id", "argon2i", 1), strings.Replace(valid, "argon2id", "argon2d", 1),
		strings.Replace(valid, "v=19", "v=16", 1), strings.Replace(valid, "v=19", "v=0", 1),
		strings.Replace(valid, "t=1", "t=+1", 1), strings.Replace(valid, "t=1", "t=01", 1),
		strings.Replace(valid, "p=1", "p=1,x=1", 1),
		"$argon2id$v=19$m=19456,t=0,p=1$" + aSalt,
		"$argon2id$v=19$m=19456,t=-1,p=1$" + aSalt,
		"$argon2id$v=19$m=19456,t=4294967297,p=1$" + aSalt,
		"$argon2id$v=19$m=19456,t=1000000,p=1$" + aSalt,
		"$argon2id$v=19$m=19456,t=2,p=0$" + aSalt,
		"$argon2id$v=19$m=19456,t=2,p=256$" + aSalt,
		"$argon2id$v=19$m=0,t=2,p=1$" + aSalt,
		"$argon2id$v=19$m=4294967295,t=2,p=1$" + aSalt,
		"$argon2id$v=19$m=99999999999999999999,t=2,p=1$" + aSalt,
		"$argon2id$v=19$m=19456,t=2,p=1$",
		"$argon2id$v=19$m=19456,t=2,p=1$AAAA",
		"$argon2id$v=19$m=19456,t=2,p=1$" + strings.Repeat("A", 1<<20),
		"$argon2id$v=19$m=19456,t=2,p=1$?",
	} {
		if got, err := derive(parameters, ""); err == nil {
			t.Errorf("derive(%.80q) = %x", parameters, got)
		}
	}
}

func FuzzDerive(f *testing.F) {
	f.Add("$argon2id$v=19$m=8,t=1,p=1$" + aSalt)
	f.Add("$argon2id$v=19$m=8,t=0,p=0$$")
	f.Fuzz(func(t *testing.T, parameters string) {
		if got, err := derive(parameters, password); err == nil && len(got) != 32 {
			t.Errorf("derive(%q) = %x", parameters, got)
		}
	})
}
