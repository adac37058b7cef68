package people

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// In each test the second operation starts before the first one commits.

func TestNoSessionOfAnOldPasswordRemains(t *testing.T) {
	t.Parallel()
	const after = "another horse battery"
	t.Run("sign-in before the change", func(t *testing.T) {
		t.Parallel()
		s := mustFixture(t)
		mine, late := s.mustSignIn(t, "amy@example.com", password), newToken()
		proofs, err := s.proofs(t.Context(), "amy@example.com", password)
		if err != nil {
			t.Fatal(err)
		}
		tx := s.mustBegin(t)
		var begun bool
		if err := tx.QueryRow(
			t.Context(), `select sign_in($1, 'amy@example.com', $2, '')`, late.hash(), proofs[0],
		).Scan(&begun); err != nil || !begun {
			t.Fatalf("sign_in = %t, %v", begun, err)
		}
		changed := s.meanwhile(t, func(ctx context.Context) error {
			_, err := s.ChangePassword(ctx, mine, "amy@example.com", password, after, "")
			return err
		})
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-changed; err != nil {
			t.Fatal(err)
		}
		if s.isActive(t, late) {
			t.Error("a session of the old password is active")
		}
	})
	t.Run("change before the sign-in", func(t *testing.T) {
		t.Parallel()
		s := mustFixture(t)
		mine := s.mustSignIn(t, "amy@example.com", password)
		proofs, err := s.proofs(t.Context(), "amy@example.com", password, after)
		if err != nil {
			t.Fatal(err)
		}
		tx := s.mustBegin(t)
		var changed bool
		if err := tx.QueryRow(t.Context(), `select change_password($1, $2, $3, $4, '')`,
			mine.hash(), newToken().hash(), proofs[0], proofs[1]).Scan(&changed); err != nil || !changed {
			t.Fatalf("change_password = %t, %v", changed, err)
		}
		signedIn := s.meanwhile(t, func(ctx context.Context) error {
			_, err := s.SignIn(ctx, "amy@example.com", password, "192.0.2.1")
			return err
		})
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-signedIn; !errors.Is(err, ErrWrong) {
			t.Errorf("SignIn by the old password = %v, want ErrWrong", err)
		}
	})
}

func TestConcurrentInvitationsLeaveOneLink(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	tx := s.mustBegin(t)
	invite := func(ctx context.Context, by tenancy.Actor, store *Store) error {
		_, err := store.Invite(ctx, s.a.ID, by, "", "new@example.com", Viewer)
		return err
	}
	if _, err := tx.Exec(t.Context(), `
		select set_config('app.tenant_id', $1::bigint::text, true), store_link(sha256('x'), 'invitation', 'new@example.com', 'owner', null, null)`, s.a.ID); err != nil {
		t.Fatal(err)
	}
	made := s.meanwhile(t, func(ctx context.Context) error { return invite(ctx, tenancy.Operator, s.operator()) })
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	links, err := s.operator().Links(t.Context(), s.a.ID, tenancy.Operator)
	if err != nil || len(links) != 1 || *links[0].Role != Viewer {
		t.Errorf("Links = %+v, %v, want the later invitation alone", links, err)
	}
}

// mustBegin begins a transaction of a superuser.
func (s *fixture) mustBegin(t testing.TB) pgx.Tx {
	t.Helper()
	tx, err := s.MustSuper(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback(context.Background()) })
	return tx
}

// meanwhile starts f and returns when it waits for a lock or has ended.
func (s *fixture) meanwhile(t testing.TB, f func(context.Context) error) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- f(t.Context()) }()
	deadline := time.Now().Add(10 * time.Second)
	for waiting := 0; waiting == 0 && len(ended) == 0; {
		if err := s.super.QueryRow(t.Context(), `
			select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("it neither ends nor waits for a lock")
		}
	}
	return ended
}
