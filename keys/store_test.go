package keys

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// about compares times, which two clocks of one machine measured.
var about = cmpopts.EquateApproxTime(10 * time.Second)

func TestCreateStoresAKey(t *testing.T) {
	t.Parallel()
	s := mustShop(t)

	t.Run("Create stores the metadata and the hash, but not the key", func(t *testing.T) {
		t.Parallel()
		by := s.mustActor(t, "ann", people.Admin)
		key, secret, err := s.asRuntime().Create(t.Context(), s.tenant.ID, by, NewKey{
			Name: " Till ", Permissions: Permissions{OrdersWrite, ProductsRead, OrdersWrite}, Lifetime: 90 * day,
		})
		if err != nil {
			t.Fatal(err)
		}
		expires := time.Now().Add(90 * day)
		want := Key{
			ID: key.ID, Name: "Till", Permissions: Permissions{ProductsRead, OrdersWrite},
			Prefix: secret.Reveal()[:12], Last4: secret.Reveal()[42:],
			CreatedBy: by.UserID, CreatedAt: time.Now(), ExpiresAt: &expires,
		}
		if diff := cmp.Diff(want, key, about); diff != "" {
			t.Errorf("Create (-want +got):\n%s", diff)
		}
		var row string
		err = s.MustSuper(t).QueryRow(t.Context(), `
			select k::text || h::text || encode(h.hash, 'escape')
			  from api_keys k join key_hashes h on h.key_id = k.id where k.id = $1`, key.ID).Scan(&row)
		if err != nil || strings.Contains(row, secret.Reveal()[12:20]) {
			t.Errorf("stored row = %s, %v", row, err)
		}
	})

	t.Run("Create works on the operator's connection", func(t *testing.T) {
		t.Parallel()
		_, secret, err := s.create(t, s.tenant.ID, "cli")
		if err != nil {
			t.Fatal(err)
		}
		if p := mustResolve(t, s.mustOpenDirect(t), secret); p.KeyName != "cli" || p.ExpiresAt != nil {
			t.Errorf("Resolve = %+v", p)
		}
	})

	t.Run("Create names every invalid field", func(t *testing.T) {
		t.Parallel()
		invalid := NewKey{Name: " \x00 ", Permissions: Permissions{"all"}, Lifetime: day}
		_, secret, err := s.Create(t.Context(), s.tenant.ID, tenancy.Operator, invalid)
		faults, _ := errors.AsType[tenancy.InvalidError](err)
		if len(faults["name"]) != 1 || len(faults["permissions"]) != 1 || len(faults["expires"]) != 1 || secret != "" {
			t.Errorf("Create = %v, want errors of name, permissions and expires", err)
		}
		for _, n := range []NewKey{
			{Name: "without permissions"},
			{Permissions: every},
			{Name: strings.Repeat("ß", 101), Permissions: every},
			{Name: "a\xff", Permissions: every},
			{Name: "a\u202eb", Permissions: every},
		} {
			if _, _, err := s.Create(t.Context(), s.tenant.ID, tenancy.Operator, n); err == nil {
				t.Errorf("Create(%+v) = nil, want an error", n)
			}
		}
	})
}

func TestASuspendedTenantGetsNoNewKey(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	key, _ := s.mustKey(t, "k")
	suspend := func(suspended bool) {
		t.Helper()
		s.mustChange(t, s.tenant.Slug, func(t *tenants.Tenant) { t.Suspended = suspended })
	}
	suspend(true)
	owner := s.mustActor(t, "ann", people.Owner)
	for by, store := range map[*tenancy.Actor]*Store{&owner: s.asRuntime(), &tenancy.Operator: s.Store} {
		_, secret, err := store.Create(t.Context(), s.tenant.ID, *by, NewKey{Name: "new", Permissions: every})
		if !errors.Is(err, ErrSuspended) || secret != "" {
			t.Errorf("Create by %s = %v, want ErrSuspended", by.Name, err)
		}
		_, secret, err = store.Roll(t.Context(), s.tenant.ID, *by, key.ID, day)
		if !errors.Is(err, ErrSuspended) || secret != "" {
			t.Errorf("Roll by %s = %v, want ErrSuspended", by.Name, err)
		}
	}
	if found, err := s.List(t.Context(), s.tenant.ID); err != nil || len(found) != 1 || found[0].ReplacedBy != nil {
		t.Errorf("List = %+v, %v, want the key unchanged", found, err)
	}
	if err := s.Revoke(t.Context(), s.tenant.ID, tenancy.Operator, key.ID); err != nil {
		t.Errorf("Revoke = %v, want nil", err)
	}
	suspend(false)
	if _, _, err := s.create(t, s.tenant.ID, "new"); err != nil {
		t.Errorf("Create after resuming = %v", err)
	}
}

func TestLiveKeysAreBounded(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	for range 50 - 1 {
		s.mustKey(t, "k")
	}
	// One of several concurrent calls creates the last key.
	for range 10 {
		var made atomic.Int64
		var refused atomic.Int32
		var tasks sync.WaitGroup
		for range 4 {
			tasks.Go(func() {
				switch key, _, err := s.create(t, s.tenant.ID, "last"); {
				case err == nil:
					made.Store(key.ID)
				case errors.Is(err, ErrTooMany):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		tasks.Wait()
		if made.Load() == 0 || refused.Load() != 3 {
			t.Fatalf("%d of 4 calls were refused, want 3", refused.Load())
		}
		s.mustRevoke(t, made.Load())
	}
	s.mustKey(t, "last")
	var hashes int
	err := s.MustSuper(t).QueryRow(t.Context(), `select count(*) from key_hashes`).Scan(&hashes)
	if err != nil || hashes != 50+10 {
		t.Errorf("%d hashes are stored, %v, want one of each of 60 keys", hashes, err)
	}
	found, err := s.List(t.Context(), s.tenant.ID)
	if err != nil || len(found) != 50+10 {
		t.Fatalf("List = %d keys, %v", len(found), err)
	}
	if _, _, err := s.Roll(t.Context(), s.tenant.ID, tenancy.Operator, found[0].ID, day); !errors.Is(err, ErrTooMany) {
		t.Errorf("Roll with an overlap = %v, want ErrTooMany", err)
	}
	if _, _, err := s.Roll(t.Context(), s.tenant.ID, tenancy.Operator, found[0].ID, 0); err != nil {
		t.Errorf("Roll without an overlap = %v", err)
	}
	s.mustRevoke(t, found[58].ID)
	s.mustAlter(t, `update api_keys set expires_at = now() where id = $1`, found[59].ID)
	s.mustKey(t, "in place of the revoked")
	s.mustKey(t, "in place of the expired")
	if _, _, err := s.create(t, s.MustTenant(t, "other").ID, "k"); err != nil {
		t.Errorf("Create for another tenant = %v", err)
	}
}

func TestListReturnsTheKeysOfTheTenantNewestFirst(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	first, _ := s.mustKey(t, "first")
	second, _ := s.mustKey(t, "second")
	s.mustRevoke(t, second.ID)
	if _, _, err := s.create(t, s.MustTenant(t, "other").ID, "foreign"); err != nil {
		t.Fatal(err)
	}
	got, err := s.List(t.Context(), s.tenant.ID)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	second.RevokedAt = &now
	if diff := cmp.Diff([]Key{second, first}, got, about); diff != "" {
		t.Errorf("List (-want +got):\n%s", diff)
	}
}

func TestRevokeDisablesAKeyOfItsTenant(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	other := s.MustTenant(t, "other")
	key, _ := s.mustKey(t, "k")
	if err := s.Revoke(t.Context(), other.ID, tenancy.Operator, key.ID); !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("Revoke by another tenant = %v, want ErrNotFound", err)
	}
	if _, _, err := s.Roll(t.Context(), other.ID, tenancy.Operator, key.ID, 0); !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("Roll by another tenant = %v, want ErrNotFound", err)
	}
	if err := s.Revoke(t.Context(), s.tenant.ID, tenancy.Operator, key.ID+1000); !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("Revoke of an absent key = %v, want ErrNotFound", err)
	}
	revokedAt := func() *time.Time {
		t.Helper()
		found, err := s.List(t.Context(), s.tenant.ID)
		if err != nil || len(found) != 1 {
			t.Fatalf("List = %v, %v", found, err)
		}
		return found[0].RevokedAt
	}
	if at := revokedAt(); at != nil {
		t.Fatalf("RevokedAt is %v before the revocation", at)
	}
	s.mustRevoke(t, key.ID)
	first := revokedAt()
	s.mustRevoke(t, key.ID)
	if second := revokedAt(); first == nil || !first.Equal(*second) {
		t.Errorf("RevokedAt is %v, after the second call %v, want no change", first, second)
	}
}

func TestRollReplacesAKey(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	r, bob := s.mustOpenDirect(t), s.mustActor(t, "bob", people.Admin)
	for _, tt := range []struct {
		name              string
		lifetime, overlap time.Duration
		revoked           bool
		wantLeft          time.Duration // of the old key; 0: as before
	}{
		{"at once", 0, 0, true, 0},
		{"with an overlap of an hour", 0, time.Hour, false, time.Hour},
		{"with an overlap of a day", 90 * day, day, false, day},
		{"with an overlap of a week", 365 * day, 7 * day, false, 7 * day},
		{"at once, with the same lifetime", 30 * day, 0, true, 30 * day},
	} {
		t.Run("Roll "+tt.name, func(t *testing.T) {
			t.Parallel()
			n := NewKey{Name: tt.name, Permissions: Permissions{ReportsRead, OrdersRead}, Lifetime: tt.lifetime}
			old, oldSecret, err := s.Create(t.Context(), s.tenant.ID, tenancy.Operator, n)
			if err != nil {
				t.Fatal(err)
			}
			next, nextSecret, err := s.asRuntime().Roll(t.Context(), s.tenant.ID, bob, old.ID, tt.overlap)
			if err != nil {
				t.Fatal(err)
			}
			wantOld, wantNext := old, old
			wantNext.CreatedBy = bob.UserID
			wantNext.ID, wantNext.Prefix, wantNext.Last4 = next.ID, nextSecret.prefix(), nextSecret.last4()
			wantOld.ReplacedBy = &next.ID
			if now := time.Now(); tt.revoked {
				wantOld.RevokedAt = &now
			}
			if at := time.Now().Add(tt.wantLeft); tt.wantLeft > 0 {
				wantOld.ExpiresAt = &at
			}
			if diff := cmp.Diff([]Key{wantNext, wantOld}, s.found(t, next.ID, old.ID), about); diff != "" {
				t.Errorf("the two keys (-want +got):\n%s", diff)
			}
			mustResolve(t, r, nextSecret)
			if _, err := r.Resolve(t.Context(), oldSecret.Reveal()); tt.revoked != errors.Is(err, ErrUnknown) {
				t.Errorf("Resolve(the old key) = %v, want ErrUnknown: %v", err, tt.revoked)
			}
			if _, _, err := s.Roll(t.Context(), s.tenant.ID, tenancy.Operator, old.ID, 0); !errors.Is(err, ErrEnded) {
				t.Errorf("rolling the old key again = %v, want ErrEnded", err)
			}
			if _, _, err := s.Roll(t.Context(), s.tenant.ID, tenancy.Operator, next.ID, 0); err != nil {
				t.Errorf("rolling the successor = %v", err)
			}
		})
	}
	t.Run("Roll never extends the lifetime of the old key", func(t *testing.T) {
		t.Parallel()
		key, _ := s.mustKey(t, "expires soon")
		s.mustAlter(t, `update api_keys set expires_at = now() + interval '1 minute' where id = $1`, key.ID)
		if _, _, err := s.Roll(t.Context(), s.tenant.ID, tenancy.Operator, key.ID, 7*day); err != nil {
			t.Fatal(err)
		}
		if left := time.Until(*s.found(t, key.ID)[0].ExpiresAt); left > time.Minute {
			t.Errorf("the old key expires in %v, want a minute", left)
		}
	})
	t.Run("Roll refuses revoked and expired keys", func(t *testing.T) {
		t.Parallel()
		revoked, _ := s.mustKey(t, "revoked")
		s.mustRevoke(t, revoked.ID)
		expired, _ := s.mustKey(t, "expired")
		s.mustAlter(t, `update api_keys set expires_at = now() where id = $1`, expired.ID)
		for _, key := range []Key{revoked, expired} {
			if _, _, err := s.Roll(t.Context(), s.tenant.ID, tenancy.Operator, key.ID, day); !errors.Is(err, ErrEnded) {
				t.Errorf("Roll(the %s key) = %v, want ErrEnded", key.Name, err)
			}
		}
	})
	t.Run("Roll refuses other overlaps", func(t *testing.T) {
		t.Parallel()
		key, _ := s.mustKey(t, "k")
		for _, overlap := range []time.Duration{-time.Hour, time.Minute, 8 * day} {
			_, _, err := s.Roll(t.Context(), s.tenant.ID, tenancy.Operator, key.ID, overlap)
			if faults, _ := errors.AsType[tenancy.InvalidError](err); len(faults["overlap"]) != 1 {
				t.Errorf("Roll(%v) = %v, want an error of overlap", overlap, err)
			}
		}
	})
}

// TestOnlyOwnersAndAdminsChangeKeys checks that PostgreSQL checks the session and the role.
func TestOnlyOwnersAndAdminsChangeKeys(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	ctx, key := t.Context(), s.mustKeyID(t, "k")
	idle, old := s.mustActor(t, "idle", people.Owner), s.mustActor(t, "old", people.Owner)
	s.mustAlter(t, `update sessions set seen_at = now() - interval '31 minutes' where token_hash = $1`, idle.Session)
	s.mustAlter(t, `update sessions set created_at = now() - interval '13 hours' where token_hash = $1`, old.Session)
	foreign := &shop{s.Database, s.Store, s.MustTenant(t, "other")}
	unknown := s.mustActor(t, "ann", people.Owner)
	unknown.Session = make([]byte, 32)
	for name, by := range map[string]tenancy.Actor{
		"a viewer":                        s.mustActor(t, "viewer", people.Viewer),
		"an owner of another tenant":      foreign.mustActor(t, "bea", people.Owner),
		"an idle session":                 idle,
		"an old session":                  old,
		"an unknown session":              unknown,
		"the operator without privileges": tenancy.Operator,
	} {
		_, _, created := s.asRuntime().Create(ctx, s.tenant.ID, by, NewKey{Name: "new", Permissions: every})
		_, _, rolled := s.asRuntime().Roll(ctx, s.tenant.ID, by, key, 0)
		revoked := s.asRuntime().Revoke(ctx, s.tenant.ID, by, key)
		for call, err := range map[string]error{"Create": created, "Roll": rolled, "Revoke": revoked} {
			if !errors.Is(err, tenancy.ErrEnded) {
				t.Errorf("%s by %s = %v, want ErrEnded", call, name, err)
			}
		}
	}
	found, err := s.List(ctx, s.tenant.ID)
	if err != nil || len(found) != 1 || found[0].RevokedAt != nil || found[0].ReplacedBy != nil {
		t.Errorf("List = %+v, %v, want the key unchanged", found, err)
	}
	for name, role := range map[string]people.Role{"owner": people.Owner, "admin": people.Admin} {
		by := s.mustActor(t, name, role)
		created, _, err := s.asRuntime().Create(ctx, s.tenant.ID, by, NewKey{Name: name, Permissions: every})
		if err != nil {
			t.Fatal(err)
		}
		rolled, _, err := s.asRuntime().Roll(ctx, s.tenant.ID, by, created.ID, day)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.asRuntime().Revoke(ctx, s.tenant.ID, by, rolled.ID); err != nil {
			t.Fatal(err)
		}
		log, _, err := tenants.AuditLog(ctx, s.DB, s.tenant.ID, "key.", 1, 3)
		if err != nil || len(log) != 3 {
			t.Fatalf("AuditLog = %v, %v, want three entries", log, err)
		}
		for i, action := range []string{"key.revoke", "key.roll", "key.create"} {
			if e := log[i]; e.Action != action || e.Actor != by.Name || *e.Address != by.Address {
				t.Errorf("the audit log has %+v, want %s by %s from %s", e, action, by.Name, by.Address)
			}
		}
		if *rolled.CreatedBy != *by.UserID {
			t.Errorf("the successor was created by %d, want %d", *rolled.CreatedBy, *by.UserID)
		}
	}
}

func (s *shop) mustKeyID(tb testing.TB, name string) int64 {
	tb.Helper()
	key, _ := s.mustKey(tb, name)
	return key.ID
}

// found returns the keys with these ids, in this order.
func (s *shop) found(tb testing.TB, ids ...int64) []Key {
	tb.Helper()
	all, err := s.List(tb.Context(), s.tenant.ID)
	if err != nil {
		tb.Fatal(err)
	}
	var found []Key
	for _, id := range ids {
		for _, key := range all {
			if key.ID == id {
				found = append(found, key)
			}
		}
	}
	return found
}
