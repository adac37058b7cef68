package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

func TestTenantCommandsManageTenants(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	var made, changed, suspended, resumed tenantJSON
	p.mustRun(
		t, &made, "tenant", "create", "--slug", "acme", "--name", "Acme Ltd", "--plan", "enterprise", "--rate-limit",
		"900", "--timezone", "Europe/Rome", "--currency", "EUR")
	want := tenantJSON{made.ID, "acme", "Acme Ltd", tenants.Enterprise, 900, "Europe/Rome", "EUR", false, []string{}, nil}
	if diff := cmp.Diff(want, made); diff != "" || made.ID == 0 {
		t.Errorf("tenant create (-want +got):\n%s", diff)
	}
	// A plan with a fixed limit removes the tenant's own limit.
	p.mustRun(t, &changed, "tenant", "set", "--slug", "acme", "--plan", "professional", "--name", "Acme",
		"--origins", "https://shop.example.com,http://localhost:3000")
	origins := []string{"https://shop.example.com", "http://localhost:3000"}
	want = tenantJSON{made.ID, "acme", "Acme", tenants.Professional, 300, "Europe/Rome", "EUR", false, origins, nil}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("tenant set (-want +got):\n%s", diff)
	}
	p.mustRun(t, &suspended, "tenant", "suspend", "--slug", "acme")
	p.mustRun(t, &resumed, "tenant", "resume", "--slug", "acme")
	if !suspended.Suspended || resumed.Suspended {
		t.Errorf("suspended = %v, then %v, want true, then false", suspended.Suspended, resumed.Suspended)
	}
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", "bolt", "--name", "Bolt")
	var all []tenantJSON
	p.mustRun(t, &all, "tenant", "list")
	if len(all) != 2 || all[0].Quotas == nil || *all[0].Quotas.Storage.Limit != 20<<30 || all[0].Quotas.Records.Used != 0 {
		t.Fatalf("tenant list = %+v, want two tenants with their quotas", all)
	}
	all[0].Quotas = nil
	if !cmp.Equal(all[0], want) || all[1].Slug != "bolt" || all[1].RateLimit != 120 {
		t.Errorf("tenant list = %+v, want acme and bolt", all)
	}
	p.mustRun(t, &changed, "tenant", "set", "--slug", "acme", "--origins", "none")
	if len(changed.Origins) != 0 {
		t.Errorf("origins = %v, want none", changed.Origins)
	}
	p.mustRun(t, &struct{}{}, "tenant", "delete", "--slug", "acme", "--confirm", "acme")
	row := fmt.Sprintf("\n%d bolt Bolt standard 120 UTC USD 0 0%% 0 0%% active", all[1].ID)
	if o := p.run(t, "tenant", "list"); o.code != 0 || strings.Contains(o.stdout, "acme") ||
		!strings.Contains(joinColumns(o.stdout), row) {
		t.Errorf("tenant list after the deletion = %+v, want only bolt, with its id", o)
	}
}

func TestAnInterruptedDeletionSaysThatTheTenantIsSuspended(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", "acme", "--name", "Acme")
	db, observer := p.MustSuper(t), p.MustSuper(t)
	tx, err := db.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), `select from warehouses for update`) // the deletion waits
	}
	if err != nil {
		t.Fatal(err)
	}
	deletion := start(t, p.dir, p.environ, "tenant", "delete", "--slug", "acme", "--confirm", "acme")
	for range poll(t) {
		var suspended bool
		const query = `select suspended_at is not null from tenants`
		if err := observer.QueryRow(t.Context(), query).Scan(&suspended); err != nil {
			t.Fatal(err)
		}
		if suspended {
			break
		}
	}
	if err := deletion.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = deletion.wait(t)
	const want = "the tenant is suspended: repeat the command, or run `storeroom tenant resume --slug acme`"
	if text := deletion.stderr.String(); err == nil || !strings.Contains(text, want) {
		t.Errorf("tenant delete = %v, %q, want %q", err, text, want)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.mustRun(t, &struct{}{}, "tenant", "delete", "--slug", "acme", "--confirm", "acme")
}

func TestKeyCommandsManageKeys(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", "acme", "--name", "Acme")
	var made, rolled keyJSON
	p.mustRun(
		t, &made, "key", "create", "--tenant", "acme", "--name", "Till", "--scopes", "products:write,orders:read",
		"--expires", "90d")
	if keys.Check(made.Key) != nil || made.Tenant != "acme" || made.Name != "Till" || made.ExpiresAt == nil {
		t.Errorf("key create = %+v, want a key named Till that expires", made)
	}
	if diff := cmp.Diff([]keys.Permission{keys.ProductsWrite, keys.OrdersRead}, made.Permissions); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	p.mustRun(t, &rolled, "key", "roll", "--tenant", "acme", "--id", "1", "--overlap", "1h")
	if keys.Check(rolled.Key) != nil || rolled.Key == made.Key {
		t.Errorf("key roll = %+v, want another key", rolled)
	}
	p.mustRun(t, &struct{}{}, "key", "revoke", "--tenant", "acme", "--id", "2")
	var all []keyJSON
	p.mustRun(t, &all, "key", "list", "--tenant", "acme")
	if len(all) != 2 || all[0].RevokedAt == nil || all[1].ReplacedBy == nil || *all[1].ReplacedBy != 2 {
		t.Errorf("key list = %+v, want the revoked second and the replaced first", all)
	}
	for _, k := range all {
		if k.Key != "" {
			t.Errorf("key list shows the key %d", k.ID)
		}
	}
	for _, command := range []string{"create", "roll"} {
		args := map[string][]string{"create": {"--name", "X", "--scopes", "read-only"}, "roll": {"--id", "3"}}[command]
		o := p.run(t, append([]string{"key", command, "--tenant", "acme"}, args...)...)
		if o.code != 0 || strings.Count(o.stdout, "sk_live_") != 1 || strings.Contains(o.stderr, "sk_live_") {
			t.Errorf("key %s = %+v, want the key once, on stdout", command, o)
		}
	}
	if o := p.run(t, "key", "list", "--tenant", "acme"); !strings.Contains(o.stdout, "Till") ||
		!strings.Contains(o.stdout, "revoked") {
		t.Errorf("key list = %+v, want a table", o)
	}
}

func TestUserCreateReadsThePasswordFromStdin(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", "acme", "--name", "Acme")
	var user struct{ Email, Role string }
	create := []string{
		"user", "create", "--tenant", "acme", "--email", "Ada@Example.com", "--role", "owner", "--password-stdin",
	}
	p.mustRunWith(t, "correct horse battery\r\n", &user, create...)
	if user.Email != "ada@example.com" || user.Role != "owner" {
		t.Errorf("user create = %+v, want the owner ada@example.com", user)
	}
	if _, err := people.New(p.DB).SignIn(t.Context(), "ada@example.com", "correct horse battery", "192.0.2.1"); err != nil {
		t.Errorf("SignIn with the password = %v", err)
	}
	// The address may be that of another person: the account joins another tenant only with its password.
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", "bolt", "--name", "Bolt")
	create[3] = "bolt"
	if o := p.runWith(t, "another password\n", create...); o.code != 1 ||
		!strings.Contains(o.stderr, "--email: ada@example.com already has an account: use `storeroom user invite`") {
		t.Errorf("user create of an existing account = %+v, want a reference to user invite", o)
	}
	var all usersJSON
	if p.mustRun(t, &all, "user", "list", "--tenant", "bolt"); len(all.Members) > 0 {
		t.Errorf("user list = %+v, want no member", all)
	}
}

func TestUserCommandsManageMembers(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("STOREROOM_BASE_URL=https://shop.example.com/")
	store := people.New(p.DB)
	for _, slug := range []string{"acme", "bolt"} {
		p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", slug, "--name", slug)
	}
	// link runs a command that prints a link and returns its token.
	link := func(args ...string) people.Token {
		t.Helper()
		var made struct{ Email, Tenant, Link string }
		p.mustRun(t, &made, append([]string{"user"}, args...)...)
		token, found := strings.CutPrefix(made.Link, "https://shop.example.com/settings/link/")
		if !found || len(token) != 43 || made.Email != "ada@example.com" {
			t.Fatalf("user %v = %+v, want a link for ada@example.com", args, made)
		}
		return people.Token(token)
	}
	use := func(token people.Token, password string) {
		t.Helper()
		if _, err := store.UseLink(t.Context(), token, password, "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	use(link("invite", "--tenant", "acme", "--email", "Ada@Example.com", "--role", "viewer"), "correct horse battery")
	use(link("invite", "--tenant", "bolt", "--email", "ada@example.com", "--role", "viewer"), "correct horse battery")
	use(link("reset", "--email", "ADA@example.com"), "another horse battery")
	if _, err := store.SignIn(t.Context(), "ada@example.com", "another horse battery", "192.0.2.1"); err != nil {
		t.Errorf("SignIn after the reset = %v", err)
	}
	p.mustRun(t, &struct{}{}, "user", "role", "--tenant", "acme", "--email", "ada@example.com", "--role", "owner")
	var all usersJSON
	p.mustRun(t, &all, "user", "list", "--tenant", "acme")
	if len(all.Members) != 1 || all.Members[0].Email != "ada@example.com" || all.Members[0].Role != "owner" ||
		all.Members[0].CreatedAt.IsZero() || len(all.Links) != 0 {
		t.Errorf("user list = %+v, want the owner ada@example.com and no link", all)
	}
	const lastOwner = "--email: ada@example.com is the last owner of tenant acme: make another member an owner first"
	if o := p.run(t, "user", "remove", "--tenant", "acme", "--email", "ada@example.com"); o.code != 1 ||
		!strings.Contains(o.stderr, lastOwner) {
		t.Errorf("user remove of the last owner = %+v", o)
	}
	if o := p.run(t, "user", "remove", "--tenant", "bolt", "--email", "ada@example.com"); o.code != 0 ||
		!strings.Contains(o.stdout, "ada@example.com is no longer a member of tenant bolt") {
		t.Errorf("user remove = %+v", o)
	}
	if o := p.run(t, "user", "list", "--tenant", "bolt"); o.code != 0 || strings.Contains(o.stdout, "ada@") {
		t.Errorf("user list of bolt = %+v, want no member", o)
	}
	var actors []string
	rows, err := p.MustSuper(t).Query(t.Context(), `select action || ' by ' || actor from audit_log order by at`)
	if err == nil {
		actors, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	want := []string{
		"tenant.create by operator", "tenant.create by operator",
		"member.invite by operator", "member.join by ada@example.com",
		"member.invite by operator", "member.join by ada@example.com",
		"password.reset_link by operator", "password.reset_link by operator", // one in each tenant
		"password.reset by ada@example.com", "password.reset by ada@example.com",
		"sign_in by ada@example.com", "sign_in by ada@example.com",
		"member.role by operator", "member.remove by operator",
	}
	if diff := cmp.Diff(want, actors); diff != "" || err != nil {
		t.Errorf("the audit log (-want +got): %v\n%s", err, diff)
	}
}

func TestUserCommandsListAndRevokeLinks(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("STOREROOM_BASE_URL=https://shop.example.com/")
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", "acme", "--name", "Acme")
	create := []string{"user", "create", "--tenant", "acme", "--role", "owner", "--password-stdin", "--email"}
	for _, email := range []string{"ada@example.com", "bob@example.com"} {
		p.mustRunWith(t, "correct horse battery\n", &struct{}{}, append(create, email)...)
	}
	p.mustRun(t, &struct{}{}, "user", "invite", "--tenant", "acme", "--email", "new@example.com", "--role", "admin")
	p.mustRun(t, &struct{}{}, "user", "reset", "--email", "bob@example.com")
	// An account without a tenant remains.
	p.mustRun(t, &struct{}{}, "user", "remove", "--tenant", "acme", "--email", "ada@example.com")
	p.mustRun(t, &struct{}{}, "user", "reset", "--email", "ada@example.com")
	var all usersJSON
	p.mustRun(t, &all, "user", "list", "--tenant", "acme")
	var links []string
	for _, l := range all.Links {
		links = append(
			links, fmt.Sprintf("%s of %s by %s for %v", l.Purpose, l.Email, l.MadeBy, l.ExpiresAt.Sub(l.CreatedAt)))
	}
	want := []string{
		"invitation of new@example.com by operator for 24h0m0s", "reset of bob@example.com by operator for 24h0m0s",
	}
	if diff := cmp.Diff(want, links); diff != "" {
		t.Errorf("user list (-want +got):\n%s", diff)
	}
	if o := p.run(t, "user", "list", "--tenant", "acme"); o.code != 0 ||
		!strings.Contains(joinColumns(o.stdout), "invitation new@example.com admin operator") {
		t.Errorf("user list = %+v, want the invitation", o)
	}
	for _, args := range [][]string{
		{"--tenant", "acme", "--email", "New@example.com"}, {"--email", "bob@example.com"}, {"--email", "ada@example.com"},
	} {
		revoke := append([]string{"user", "revoke-link"}, args...)
		if o := p.run(t, revoke...); o.code != 0 || !strings.Contains(o.stdout, "revoked the link of") {
			t.Errorf("%v = %+v", revoke, o)
		}
		if o := p.run(t, revoke...); o.code != 1 ||
			!strings.Contains(o.stderr, "--email: "+strings.ToLower(args[len(args)-1])+" has no link") {
			t.Errorf("%v again = %+v, want an error", revoke, o)
		}
	}
	p.mustRun(t, &all, "user", "list", "--tenant", "acme")
	if len(all.Links) != 0 {
		t.Errorf("user list = %+v, want no link", all.Links)
	}
}

func TestALinkRequiresThePublicURL(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("STOREROOM_ADDR=:8080")
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", "acme", "--name", "Acme")
	o := p.run(t, "user", "invite", "--tenant", "acme", "--email", "ada@example.com", "--role", "owner")
	if o.code != 1 || !strings.Contains(o.stderr, "STOREROOM_BASE_URL is not set") {
		t.Errorf("user invite = %+v, want an error about STOREROOM_BASE_URL", o)
	}
	var links int
	if err := p.MustSuper(t).QueryRow(t.Context(), `select count(*) from one_time_links`).Scan(&links); links != 0 ||
		err != nil {
		t.Errorf("%d links were made, %v", links, err)
	}
}

func TestALinkForThisMachineIsAWarning(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("STOREROOM_ADDR=127.0.0.1:8080")
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", "acme", "--name", "Acme")
	invite := []string{"user", "invite", "--tenant", "acme", "--email", "ada@example.com", "--role", "owner"}
	const warning = "warning: STOREROOM_BASE_URL is not set: the link works only on this machine\n"
	o := p.run(t, invite...)
	if o.code != 0 || o.stderr != warning || !strings.HasPrefix(o.stdout, "http://127.0.0.1:8080/settings/link/") {
		t.Errorf("user invite = %+v, want a link and %q", o, warning)
	}
	o = p.with("STOREROOM_BASE_URL=https://shop.example.com").run(t, invite...)
	if o.code != 0 || o.stderr != "" {
		t.Errorf("user invite with STOREROOM_BASE_URL = %+v, want no warning", o)
	}
}

// Each wrong command line returns one sentence that names the problem.
func TestWrongCommandLinesAreExplained(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", "acme", "--name", "Acme")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for _, test := range []struct{ line, want string }{
		{"nonsense", `unknown command "nonsense": see storeroom --help`},
		{"tenant nonsense", `unknown command "nonsense": see storeroom tenant --help`},
		{"help nonsense", "No help topic for 'nonsense'"},
		{"nonsense --help", "No help topic for 'nonsense'"},
		{"version nonsense", `unexpected argument "nonsense"`},
		{"tenant list --nonsense", "unknown flag --nonsense: see storeroom tenant list --help"},
		{"tenant list --json=yes", `--json must be true or false, not "yes"`},
		{"tenat list", `unknown command "tenat": did you mean tenant?`},
		{"tenant crate", `unknown command "crate": did you mean create?`},
		{"key list --tenatn acme", "unknown flag --tenatn: did you mean --tenant?"},
		{"key list --tenant", "--tenant needs a value: see storeroom key list --help"},
		{"tenant create", "--slug, --name are required"},
		{"tenant create --slug acme --name A", `--slug: tenant "acme" already exists`},
		{
			"tenant create --slug A_B --name A --plan gold --currency euro --timezone Mars",
			"--currency must be the ISO 4217 code of a currency in use, such as EUR; --plan must be standard, professional or enterprise; " +
				"--slug must be 1 to 63 lower-case letters",
		},
		{"tenant create --slug a --name A --rate-limit 5", "--rate-limit is allowed only for the enterprise plan"},
		{"tenant create --slug a --name A --plan enterprise", "--rate-limit is required for the enterprise plan"},
		{
			"tenant create --slug a --name A --plan enterprise --rate-limit 99999999999",
			"--rate-limit must be between 1 and 10000000",
		},
		{"tenant create --slug a --name A --plan enterprise --rate-limit x", `--rate-limit must be a whole number, not "x"`},
		{"tenant set --slug acme", "nothing to change"},
		{"tenant set --slug none --name N", `--slug: tenant "none" not found`},
		{"tenant suspend --slug none", `--slug: tenant "none" not found`},
		{"tenant delete --slug acme --confirm acne", `--confirm must repeat the slug "acme"`},
		{"tenant delete --slug none --confirm none", `--slug: tenant "none" not found`},
		{"key create --tenant acme", "--name, --scopes are required"},
		{"key create --tenant none --name N --scopes full", `--tenant: tenant "none" not found`},
		{
			"key create --tenant acme --name N --scopes all,full --expires 12x",
			`--expires must be 30d, 90d, 365d or never; --scopes must not name "all"`,
		},
		{"key create --tenant acme --name N --scopes full --expires 31d", "--expires must be 30, 90 or 365 days, or never"},
		{"key create --tenant acme --name N --scopes full --expires 0d", "--expires must be 30d, 90d, 365d or never"},
		{"key list", "--tenant is required"},
		{"key revoke --tenant acme --id 77", "--id: tenant acme has no key 77"},
		{"key revoke --tenant acme --id x", `--id must be a whole number, not "x"`},
		{"key revoke --tenant acme --id 0100", "--id: tenant acme has no key 100"},
		{"key revoke --tenant acme --id 0x10", `--id must be a whole number, not "0x10"`},
		{"key roll --tenant acme --id 77 --overlap 2h", "--overlap must be 0, 1h, 24h or 168h"},
		{"key roll --tenant acme --id 77 --overlap soon", "--overlap must be 0, 1h, 24h or 168h"},
		{"key roll --tenant acme --id 77", "--id: tenant acme has no key 77"},
		{
			"user create --tenant acme --email x --role king --password-stdin",
			"--email must be an e-mail address; the password must have 12 to 128 characters; " +
				"--role must be owner, admin or viewer",
		},
		{"user create --tenant acme --email a@b.c --role owner", "--password-stdin is required"},
		{"customer erase", "--tenant, --id are required"},
		{"customer erase --tenant none --id 7", `--tenant: tenant "none" not found`},
		{"customer erase --tenant acme --id 7", `--id: tenant acme has no customer "7"`},
		{"verify", "set either --tenant or --all"},
		{"verify --all --tenant acme", "set either --tenant or --all"},
		{"verify --tenant none", `--tenant: tenant "none" not found`},
		{"verify acme", `unexpected argument "acme"`},
		{"rebuild --tenant none", `--tenant: tenant "none" not found`},
		{"tenant set --slug acme --origins", "--origins needs a value: see storeroom tenant set --help"},
		{"tenant set --slug acme --origins https://shop.example.com/", `--origins must be addresses such as https://shop.example.com`},
		{"tenant set --slug acme --origins *", `--origins must be addresses such as https://shop.example.com`},
		{"tenant set --slug acme --origins https://Shop.example.com", `without a path: "https://Shop.example.com"`},
		{"tenant set --slug acme --origins https://*.example.com", `without a path: "https://*.example.com"`},
		{"tenant set --slug acme --origins https://a.example:443", `--origins must not have the port that browsers leave out`},
		{"tenant set --slug acme --origins https://a.example,https://a.example", `--origins must not be repeated`},
		{"tenant set --slug acme --timezone Mars", "--timezone must be an IANA time zone such as Europe/London"},
		{"user invite --tenant acme --email x", "--role is required"},
		{
			"user invite --tenant acme --email x --role king",
			"--email must be an e-mail address; --role must be owner, admin or viewer",
		},
		{"user invite --tenant none --email a@b.c --role owner", `--tenant: tenant "none" not found`},
		{"user reset", "--email is required"},
		{"user reset --email a@b.c", "--email: a@b.c has no account"},
		{"user revoke-link --tenant acme", "--email is required"},
		{"user revoke-link --tenant acme --email a@b.c", "--email: a@b.c has no link into tenant acme"},
		{"user revoke-link --tenant none --email a@b.c", `--tenant: tenant "none" not found`},
		{"user revoke-link --email a@b.c", "--email: a@b.c has no link of `user reset`"},
		{"user list", "--tenant is required"},
		{"user role --tenant acme --email a@b.c", "--role is required"},
		{"user role --tenant acme --email a@b.c --role owner", "--email: a@b.c is not a member of tenant acme"},
		{"user remove --tenant acme --email a@b.c", "--email: a@b.c is not a member of tenant acme"},
		{"import " + empty, "--tenant is required"},
		{"import --tenant acme", "expected PATH... or --resume NUMBER"},
		{"import --tenant acme " + file + " " + empty, "is a directory: expected one directory, or files"},
		{"import --tenant acme " + filepath.Join(empty, "none"), "PATH: stat"},
		{"import --tenant acme --set colour=red " + empty, `--set: unknown setting "colour"`},
		{"import --tenant acme --set decimal=x " + empty, "--set: decimal must be one of"},
		{"import --tenant acme --resume 7", "there is no import 7, or it has expired"},
		{"import --tenant acme --resume 7 --dry-run", "--dry-run cannot be used with --resume"},
		{"import --tenant acme --resume 7 --set decimal=,", "--set cannot be used with --resume"},
		{"import undo --tenant acme 7", "there is no import 7, or it has expired"},
		{"import undo --tenant acme x", "expected one argument: the number of the import"},
		{
			"migrate --print-cluster c",
			"--print-cluster: expected HOST:PORT of the coordinator and of at least one worker",
		},
		{"migrate --print-cluster c:5432,w:port", `--print-cluster: expected HOST:PORT, not "w:port"`},
		{"migrate --print-cluster c,w:5432", `--print-cluster: expected HOST:PORT, not "c"`},
		{"migrate --print-cluster c:5432,w:5432 --shards 0", "--shards must be at least 1"},
		{"migrate --print-roles --database=", "--database must not be empty"},
		{"migrate --shards 8", "--shards can be used only with --print-cluster"},
		{"migrate --database shop", "--database can be used only with --print-roles"},
		{"migrate --print-roles --print-cluster c:1,w:1", "set either --print-roles or --print-cluster"},
		{"import undo --dry-run --tenant acme 7", "unknown flag --dry-run"},
		{"import --dry-run undo --tenant acme 7", "--dry-run cannot be used with import undo"},
		{"import --tenant acme " + empty, "no files to import"},
		{"import --tenant none " + empty, `--tenant: tenant "none" not found`},
		{"import --tenant acme --errors " + filepath.Join(empty, "none", "e.csv") + " " + empty, "--errors: open"},
	} {
		t.Run(test.line, func(t *testing.T) {
			o := p.run(t, strings.Fields(test.line)...)
			if o.code != 1 || !strings.HasPrefix(o.stderr, "storeroom: ") || !strings.Contains(o.stderr, test.want) {
				t.Errorf("code %d, stderr %q, want 1 and %q", o.code, o.stderr, test.want)
			}
			if o.stdout != "" {
				t.Errorf("stdout %q, want no result", o.stdout)
			}
			if strings.Count(o.stderr, "\n") != 1 && !strings.HasPrefix(test.line, "import") {
				t.Errorf("stderr %q, want one sentence", o.stderr)
			}
		})
	}
}

// The help of every command has a usage line, a sentence, its flags, and an example with flags that exist.
func TestEveryCommandHasHelp(t *testing.T) {
	t.Parallel()
	p := program{dir: t.TempDir()}
	var check func(cmd *cli.Command, line string)
	check = func(cmd *cli.Command, line string) {
		o := p.run(t, append(strings.Fields(line)[1:], "--help")...)
		if o.code != 0 || !strings.Contains(o.stdout, "USAGE:\n   "+line) || cmd.Usage == "" {
			t.Errorf("%s --help = %d: %s", line, o.code, o.stdout)
		}
		for _, sub := range cmd.Commands {
			if !strings.Contains(o.stdout, "\n   "+sub.Name+" ") {
				t.Errorf("%s --help does not list %s: %s", line, sub.Name, o.stdout)
			}
			check(sub, line+" "+sub.Name)
		}
		if len(cmd.Commands) > 0 {
			return
		}
		flags := []string{"help"}
		for _, flag := range cmd.Flags {
			flags = append(flags, flag.Names()...)
		}
		_, example, _ := strings.Cut(cmd.Description, "Example: ")
		if !strings.Contains(example, line) {
			t.Errorf("%s --help has no example: %s", line, o.stdout)
		}
		for _, flag := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(example, -1) {
			if !slices.Contains(flags, flag[1]) {
				t.Errorf("the example of %s has the unknown flag %s", line, flag[0])
			}
		}
	}
	check(console{}.rootCommand(), "storeroom")
	for line, same := range map[string]string{"help": "--help", "help tenant create": "tenant create --help"} {
		got, want := p.run(t, strings.Fields(line)...), p.run(t, strings.Fields(same)...)
		if got != want {
			t.Errorf("storeroom %s = %+v, want the result of storeroom %s", line, got, same)
		}
	}
	if o := p.run(t, "tenant", "set", "--help"); strings.Contains(o.stdout, "default") {
		t.Errorf("tenant set --help names defaults, but flags that are not given keep their values: %s", o.stdout)
	}
	if o := p.run(t, "key", "create", "--help"); !strings.Contains(o.stdout, `(default: "never")`) {
		t.Errorf("key create --help shows no default: %s", o.stdout)
	}
}

func TestVersionNamesTheSchema(t *testing.T) {
	t.Parallel()
	var v struct {
		Version string
		Schema  int
	}
	program{}.mustRun(t, &v, "version")
	if v.Version != version || v.Schema != migrations.Latest() {
		t.Errorf("version = %+v, want %s and %d", v, version, migrations.Latest())
	}
}

func TestASecondMigrateAppliesNothing(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	var m struct {
		Version int
		Applied []string
	}
	p.mustRun(t, &m, "migrate")
	if m.Version != migrations.Latest() || len(m.Applied) != 0 {
		t.Errorf("migrate = %+v, want nothing to do at version %d", m, migrations.Latest())
	}
}

// A newer schema, one of another history, and the roles of an earlier release are refused with exit code 1.
func TestMigrateRefusesWhatItCannotMigrate(t *testing.T) {
	t.Parallel()
	latest := migrations.Latest()
	for _, test := range []struct{ name, sql, want string }{
		{"a newer schema", fmt.Sprintf(`insert into schema_migrations (version, name) values (%d, 'later')`, latest+1),
			fmt.Sprintf("the schema is at version %d (later), which is newer than this program", latest+1)},
		{"another history", `update schema_migrations set name = '0040_other' where version = 40`,
			"version 40 was applied from a file 0040_other.sql"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			if _, err := p.MustSuper(t).Exec(t.Context(), test.sql); err != nil {
				t.Fatal(err)
			}
			o := p.run(t, "migrate")
			if o.code != 1 || o.stdout != "" || !strings.Contains(o.stderr, test.want) ||
				!strings.Contains(o.stderr, "Nothing was changed") {
				t.Errorf("migrate = %+v, want 1 and %q", o, test.want)
			}
		})
	}
}

// The policies hide all tenants from the runtime role: without the check, verify --all would find no difference.
func TestCommandsRefuseARoleThatIsNotTheMigrator(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p = p.with("DATABASE_ADMIN_URL=" + p.URL)
	const want = "DATABASE_ADMIN_URL: the role storeroom_runtime cannot become storeroom_owner: use storeroom_migrator"
	for _, line := range []string{"migrate", "tenant list", "verify --all"} {
		if o := p.run(t, strings.Fields(line)...); o.code != 1 || o.stdout != "" || !strings.Contains(o.stderr, want) {
			t.Errorf("%s = %+v, want %q", line, o, want)
		}
	}
}

func TestCommandsNameMigrateIfTheSchemaIsOld(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "a table of a cluster has views in each shard group")
	p := newProgram(t)
	if _, err := p.MustSuper(t).Exec(t.Context(), `alter table tenants rename to later`); err != nil {
		t.Fatal(err)
	}
	const want = "; if the schema is older than the program, run `storeroom migrate`"
	for _, line := range []string{"tenant list", "key list --tenant acme"} {
		if o := p.run(t, strings.Fields(line)...); o.code != 1 || !strings.Contains(o.stderr, want) {
			t.Errorf("%s = %+v, want %q", line, o, want)
		}
	}
}

func TestVerifyDoesNotSayThatEverythingAgreesAfterAFailure(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "a table of a cluster has views in each shard group")
	p := newProgram(t)
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", "acme", "--name", "Acme")
	if _, err := p.MustSuper(t).Exec(t.Context(), `alter table orders rename to later`); err != nil {
		t.Fatal(err)
	}
	const want = "not everything was verified, the rest agrees: 0 tenants, 0 products, 0 orders\n"
	if o := p.run(t, "verify", "--all"); o.code != 1 || o.stdout != want ||
		!strings.Contains(o.stderr, "verify tenant acme") {
		t.Errorf("verify --all = %+v, want 1 and %q", o, want)
	}
}

func TestMigrateReportsAnUnsafeSchema(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "TestCitusIsolationOnEveryNode checks the policies")
	p := newProgram(t)
	if _, err := p.MustSuper(t).Exec(t.Context(), `alter table stock no force row level security`); err != nil {
		t.Fatal(err)
	}
	o := p.run(t, "migrate")
	if want := "stock: row-level security is not forced on the owner"; o.code != 1 || !strings.Contains(o.stderr, want) {
		t.Errorf("migrate = %d, %q, want 1 and %q", o.code, o.stderr, want)
	}
}

// On a managed database no role can revoke the privilege, so the program only warns.
func TestLargeObjectsAreAWarning(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	if _, err := p.MustSuper(t).Exec(t.Context(), `grant execute on function lo_create(oid) to public`); err != nil {
		t.Fatal(err)
	}
	o := p.run(t, "migrate")
	if want := "warning: storeroom_runtime: can write large objects"; o.code != 0 || !strings.HasPrefix(o.stderr, want) {
		t.Errorf("migrate = %d, %q, want 0 and %q", o.code, o.stderr, want)
	}
	s := start(t, p.dir, p.environ, "serve")
	s.address(t)
	if want := `"problem":"can write large objects`; !strings.Contains(s.stderr.String(), want) {
		t.Errorf("serve logged %q, want %s", s.stderr.String(), want)
	}
	s.stop(t)
}

func TestPrintRolesNeedsNoDatabase(t *testing.T) {
	t.Parallel()
	p := program{dir: t.TempDir()}
	first, second := p.run(t, "migrate", "--print-roles", "--database", "shop"), p.run(
		t, "migrate", "--print-roles", "--database", "shop")
	for _, want := range []string{
		"create role storeroom_runtime nosuperuser", `create database "shop" owner storeroom_owner`,
		"\n\\connect \"shop\"\nrevoke execute on function\n",
		"-- DATABASE_URL=postgres://storeroom_runtime:", "-- DATABASE_ADMIN_URL=postgres://storeroom_migrator:",
	} {
		if first.code != 0 || !strings.Contains(first.stdout, want) {
			t.Errorf("migrate --print-roles = %d without %q:\n%s", first.code, want, first.stdout)
		}
	}
	if first.stdout == second.stdout {
		t.Error("two scripts have the same passwords")
	}
}

func TestImportCommandLoadsReportsAndCounts(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", "acme", "--name", "Acme")
	dir, errorsFile := t.TempDir(), filepath.Join(t.TempDir(), "errors.csv")
	content := "sku,name,price,category\nA,Axe,1,1\n" + strings.Repeat("B,Bow,x,\n", 25)
	for name, text := range map[string]string{
		"products.csv": content, "categories.csv": "id,name\n1,Tools\n", "notes.csv": "number\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := p.run(t, "import", "--tenant", "acme", "--errors", errorsFile, dir)
	const counts = "FILE CREATED UPDATED UNCHANGED REFUSED IGNORED categories.csv 1 0 0 0 0 products.csv 1 0 0 25 0 " +
		"to undo this import: storeroom import undo --tenant acme 1"
	if o.code != 2 || strings.Join(strings.Fields(o.stdout), " ") != counts {
		t.Errorf("import = %d, %q, want 2 and the counts", o.code, o.stdout)
	}
	for _, want := range []string{
		"skipped notes.csv: only", `products.csv line 3 "B": price must be a decimal number`,
		"and 5 more; all of them are in " + errorsFile, "storeroom: 25 rows were refused",
	} {
		if !strings.Contains(o.stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, o.stderr)
		}
	}
	written, err := os.ReadFile(errorsFile)
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(written, []byte("\n")); lines != 26 ||
		!strings.HasPrefix(string(written), "file,line,key,field,reason\nproducts.csv,3,B,price,must be a decimal number\n") {
		t.Errorf("--errors wrote %d lines:\n%s", lines, written)
	}
	o = p.run(t, "import", "--tenant", "acme", "--json", dir)
	want := `{
  "id": 2,
  "files": [
    {
      "file": "categories.csv",
      "created": 0,
      "updated": 0,
      "unchanged": 1,
      "refused": 0,
      "ignored": 0
    },
    {
      "file": "products.csv",
      "created": 0,
      "updated": 0,
      "unchanged": 1,
      "refused": 25,
      "ignored": 0
    }
  ],
  "passed_over": [
    "notes.csv"
  ],
  "refused": 25,
  "exceeding": 0,
  "notes": []
}
`
	if diff := cmp.Diff(want, o.stdout); diff != "" || o.code != 2 {
		t.Errorf("import --json = %d (-want +got):\n%s", o.code, diff)
	}
}
