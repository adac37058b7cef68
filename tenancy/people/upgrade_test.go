package people

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// The upgrade to the schema with verifiers keeps every password.
func TestMigrationKeepsPasswords(t *testing.T) {
	t.Parallel()
	const verifiers = 12 // the migration
	// The hash that the previous version stored for the usual password.
	const stored = "$argon2id$v=19$m=19456,t=2,p=1$p437pCzbbltz8b5Dsovuww$Vhby2IboPsX8dtzssu98NtA6zWeJ1o5FCGRX1o3LveA"
	d := dbtest.New(t)
	d.MustRewind(t, verifiers-1)
	if _, err := d.MustSuper(t).Exec(t.Context(), `
		insert into users (email, password_hash)
		values ('ann@example.com', '`+stored+`'), ('old@example.com', 'x')`); err != nil {
		t.Fatal(err)
	}
	if err := d.Admin.Conn(t.Context(), func(conn *pgx.Conn) error {
		ran, err := migrations.Apply(t.Context(), conn)
		if len(ran) != migrations.Latest()-verifiers+2 || ran[len(ran)-1] != "functions" {
			t.Errorf("ran %q", ran)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	store := New(d.DB)
	if _, err := store.SignIn(t.Context(), "ann@example.com", password, "192.0.2.1"); err != nil {
		t.Errorf("SignIn with the old password = %v", err)
	}
	for email, wrong := range map[string]string{"ann@example.com": password + "x", "old@example.com": "x"} {
		if _, err := store.SignIn(t.Context(), email, wrong, "192.0.2.1"); !errors.Is(err, ErrWrong) {
			t.Errorf("SignIn(%s, %s) = %v, want ErrWrong", email, wrong, err)
		}
	}
	reset, err := New(d.Admin).ResetAnywhere(t.Context(), "old@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.UseLink(t.Context(), reset, password, ""); err != nil {
		t.Errorf("Use of a reset for an account without a password = %v", err)
	}
	if _, err := store.SignIn(t.Context(), "old@example.com", password, "192.0.2.1"); err != nil {
		t.Errorf("SignIn after the reset = %v", err)
	}
}
