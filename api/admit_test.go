package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// mustHold acquires n times as that user, until the test ends.
func (a *testAPI) mustHold(
	t *testing.T, n int, user string, class limits.Class, acquire func(context.Context, *limits.Ticket) error,
) {
	t.Helper()
	for range n {
		ticket := a.server.Limits.Enter(user, class)
		t.Cleanup(ticket.Close)
		if err := acquire(t.Context(), ticket); err != nil {
			t.Fatal(err)
		}
	}
}

func start(ctx context.Context, ticket *limits.Ticket) error { return ticket.Start(ctx) }

func connect(ctx context.Context, ticket *limits.Ticket) error {
	_, err := ticket.Connection(ctx)
	return err
}

func take(kind limits.Kind, n int64) func(context.Context, *limits.Ticket) error {
	return func(ctx context.Context, ticket *limits.Ticket) error {
		_, err := ticket.Take(ctx, kind, n)
		return err
	}
}

// withShortWait shortens the wait for a share, for requests that are refused. On a busy machine it is too short for
// others: see patient.
func withShortWait(s *Server) { s.Limits.Wait = 100 * time.Millisecond }

// tryAsAnother sends a request of a new tenant.
func (a *testAPI) tryAsAnother(t *testing.T, c call) {
	t.Helper()
	c.key = a.mustKey(t, a.MustTenant(t, fmt.Sprintf("other-%x", rand.Uint64()), withLimit(1_000_000)), "full")
	a.try(t, c)
}

// patient returns another server with the database and the shares of a. Its requests wait for as long as in operation.
func (a *testAPI) patient(t *testing.T, change ...func(*Server)) *testAPI {
	t.Helper()
	shares := *a.server.Limits
	shares.Wait = limits.New(1, 1).Wait
	b := *a
	b.log = &logged{}
	b.serve(t, a.DB, append([]func(*Server){func(s *Server) { s.Limits = &shares }}, change...)...)
	return &b
}

// withoutDatabaseTimeouts returns a database where requests wait for locks until their deadline.
func withoutDatabaseTimeouts(t *testing.T) *dbtest.Database {
	t.Helper()
	d := dbtest.New(t)
	d.DB = dbtest.MustOpen(t, d.URL+"&lock_timeout=0&statement_timeout=0")
	return d
}

func TestATenantOverItsShareDelaysOnlyItself(t *testing.T) {
	t.Parallel()
	reports := []call{
		{path: "/api/reports/sales-summary?" + firstDays}, {path: "/api/reports/products"}, {path: "/api/reports/channels"},
		{path: "/api/reports/customers"}, {path: "/api/reports/reconcile?" + firstDays},
		{method: "POST", path: "/api/reports/custom", body: `{"from":"2026-03-01","to":"2026-03-03","metrics":["orders"]}`},
		{method: "POST", path: "/api/orders/bulk", body: `{"orders":[` + order("1") + `]}`},
		{path: "/api/reports/export/products"}, {path: "/api/products/export"},
	}
	workbook := call{path: "/api/reports/export/channels?format=xlsx"}
	list, bulk := call{path: "/api/products"}, call{method: "POST", path: "/api/products/bulk", body: `{"items":[]}`}
	long := call{method: "POST", path: "/api/products/bulk", body: `{"items":[]` + strings.Repeat(" ", largeBody) + `}`}
	all := func(calls []call, more ...call) []call { return slices.Concat(calls, more) }
	for _, test := range []struct {
		name    string
		hold    func(context.Context, *limits.Ticket) error
		class   limits.Class
		n       int
		refused []call
		served  []call
	}{
		{"requests", start, limits.Write, 256, all(reports, workbook, list), nil},
		{"long connections", start, limits.Report, 3, all(reports, workbook), []call{list}},
		{"short connections", connect, limits.Write, 3, []call{list}, all(reports, workbook)},
		{"memory", take(limits.Memory, 48<<20), limits.Bulk, 1, all(reports[7:], workbook), all(reports[:7], list, bulk)},
		{"disk", take(limits.Disk, 512<<20), limits.Bulk, 1, []call{long}, all(reports, list, bulk, workbook)},
		{"CPUs", take(limits.CPU, 1), limits.Bulk, 1, []call{workbook, long}, all(reports, list, bulk)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, withShortWait)
			patient := a.patient(t)
			a.try(t, call{path: "/api/me", wantStatus: 200})
			a.mustHold(t, test.n, a.tenant.ID.User(), test.class, test.hold)
			for _, c := range test.refused {
				c.wantStatus, c.wantCode, c.want = 503, ServiceUnavailable, []string{"Too many requests are in progress."}
				if got := a.try(t, c); got.Header.Get("Retry-After") != "1" || got.Header.Get("Content-Disposition") != "" {
					t.Errorf("%s %s: headers = %v", c.method, c.path, got.Header)
				}
				if line := a.lastLine(t); line.Level != "WARN" || !strings.Contains(line.Error, test.name) {
					t.Errorf("%s %s is logged as %+v, want a warning that names %s", c.method, c.path, line, test.name)
				}
				c.wantStatus, c.wantCode, c.want = 200, "", nil
				patient.tryAsAnother(t, c)
			}
			for _, c := range test.served {
				c.wantStatus = 200
				patient.try(t, c)
			}
			a.try(t, call{name: "no database", path: "/healthz", key: "-", wantStatus: 200})
		})
	}
}

// mustSignIn creates a member of a tenant and returns the cookie of a session.
func (a *testAPI) mustSignIn(t *testing.T, tenant tenants.Tenant) (cookie string) {
	t.Helper()
	email, password := fmt.Sprintf("%s@%x.example", tenant.Slug, rand.Uint64()), "correct horse battery"
	if _, err := people.New(a.Admin).CreateMember(t.Context(), tenant.ID, email, people.Owner, password); err != nil {
		t.Fatal(err)
	}
	_, cookie = a.page(t, "POST", "/settings/sign-in", "", url.Values{"email": {email}, "password": {password}})
	return cookie
}

func TestPagesCountAsWorkOfTheTenant(t *testing.T) {
	t.Parallel()
	reports, lists := []string{"/overview", "/usage"}, []string{"/products", "/orders", "/audit"}
	settings := []string{"/keys", "/keys/new", "/members"}
	for _, test := range []struct {
		name            string
		class           limits.Class
		n               int
		refused, served []string
	}{
		{"long connections", limits.Report, 3, append(reports, "/overview.xlsx"), slices.Concat(lists, settings)},
		{"short connections", limits.Read, 3, lists, slices.Concat(reports, settings)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, withPages(), withShortWait)
			patient := a.patient(t, withPages())
			cookie := patient.mustSignIn(t, a.tenant)
			a.mustHold(t, test.n, a.tenant.ID.User(), test.class, start)
			path := func(page string) string { return "/settings/t/" + a.tenant.Slug + page }
			for _, page := range test.refused {
				if got, _ := a.page(t, "GET", path(page), cookie, nil); got.StatusCode != 503 {
					t.Errorf("%s = %d, want 503", page, got.StatusCode)
				}
				if line := a.lastLine(t); !strings.Contains(line.Error, test.name) {
					t.Errorf("%s is logged as %+v, want a line that names %s", page, line, test.name)
				}
			}
			for _, page := range test.served {
				if got, _ := patient.page(t, "GET", path(page), cookie, nil); got.StatusCode != 200 {
					t.Errorf("%s = %d, want 200", page, got.StatusCode)
				}
			}
		})
	}
}

func TestALeakedKeyIsRevokedWhileItUsesTheShareOfItsTenant(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPages(), withShortWait)
	cookie := a.mustSignIn(t, a.tenant)
	leaked, secret := a.mustNewKey(t, a.tenant, "full")
	a.try(t, call{path: "/api/me", key: secret, wantStatus: 200})
	a.mustHold(t, 253, a.tenant.ID.User(), limits.Write, start)
	a.mustHold(t, 3, a.tenant.ID.User(), limits.Read, start)
	a.mustHold(t, 1, a.tenant.ID.User(), limits.Write, take(limits.Memory, 48<<20))
	a.try(t, call{path: "/api/products", key: secret, wantStatus: 503, wantCode: ServiceUnavailable})
	list := "/settings/t/" + a.tenant.Slug + "/keys"
	revoke := fmt.Sprintf("%s/%d/revoke", list, leaked.ID)
	for _, page := range []string{list, revoke} {
		if got, _ := a.page(t, "GET", page, cookie, nil); got.StatusCode != 200 {
			t.Errorf("%s = %d, want 200", page, got.StatusCode)
		}
	}
	if got, _ := a.page(t, "POST", revoke, cookie, nil); got.StatusCode != 303 {
		t.Errorf("POST %s = %d, want 303", revoke, got.StatusCode)
	}
	poll(t, "the key is refused", func() bool {
		return a.send(t, call{path: "/api/me", key: secret}).StatusCode == 401
	})
}

// Members of one tenant at many addresses open pages that PostgreSQL does not answer.
func TestPagesOfATenantDoNotDelaySignedInUsersAndNewKeysOfOthers(t *testing.T) {
	t.Parallel()
	a := newAPIOn(t, withoutDatabaseTimeouts(t), withPages(), withShortWait)
	patient := a.patient(t, withPages()) // pages end after 8 s
	other := a.MustTenant(t, "other", withLimit(1_000_000))
	uncached, cookie := a.mustKey(t, other, "full"), patient.mustSignIn(t, a.tenant)
	otherCookie := patient.mustSignIn(t, other)
	super, watch := a.MustSuperAt(t, a.tenant.ID), a.MustSuperAt(t, a.tenant.ID)
	tx, err := super.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `lock table orders, sales_rollups`); err != nil {
		t.Fatal(err)
	}
	const requests, addresses = 16, 8
	var answered atomic.Int64
	var all sync.WaitGroup
	for n := range requests {
		path := "/settings/t/" + a.tenant.Slug + []string{"/overview", "/orders"}[n%2]
		all.Go(func() {
			a.pageFrom(t, fmt.Sprintf("192.0.2.%d", n%addresses), "GET", path, cookie, nil)
			answered.Add(1)
		})
	}
	poll(t, "each request is refused or waits for PostgreSQL", func() bool {
		var blocked int64
		err := watch.QueryRow(t.Context(), `
			select count(*)
			  from pg_stat_activity
			 where datname = current_database() and wait_event_type = 'Lock'`).Scan(&blocked)
		if err != nil {
			t.Fatal(err)
		}
		return blocked > 0 && blocked+answered.Load() == requests
	})
	if got, _ := patient.page(t, "GET", "/settings/t/"+other.Slug+"/keys", otherCookie, nil); got.StatusCode != 200 {
		t.Errorf("a page of another tenant = %d, want 200", got.StatusCode)
	}
	patient.try(t, call{path: "/api/me", key: uncached, wantStatus: 200})
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	all.Wait()
}

func TestAnAddressOverItsShareDelaysOnlyItself(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPages(), withShortWait)
	network := a.address[:strings.LastIndex(a.address, "::")] + "::/64"
	a.mustHold(t, 256, "address "+network, limits.Page, start)
	for _, path := range []string{"/settings/sign-in", "/settings/t/shop/keys", "/settings"} {
		got, _ := a.page(t, "GET", path, "", nil)
		if got.StatusCode != 503 || got.Header.Get("Retry-After") == "" {
			t.Errorf("%s = %d, want 503 with Retry-After", path, got.StatusCode)
		}
		checkErrorPage(t, got, "Temporarily unavailable")
		if line := a.lastLine(t); !strings.Contains(line.Error, "requests") {
			t.Errorf("%s is logged as %+v, want the cause", path, line)
		}
	}
	a.try(t, call{path: "/api/products", wantStatus: 200})
	a.address = "192.0.2.7"
	if got, _ := a.page(t, "GET", "/settings/sign-in", "", nil); got.StatusCode != 200 {
		t.Errorf("another address = %d, want 200", got.StatusCode)
	}
}

// mustDial sends a header and the start of a body, and leaves the connection open.
func (a *testAPI) mustDial(t *testing.T, path, contentType, key, begin string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: %s\r\n"+
		"Authorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: 1000\r\n\r\n%s", path, a.address, key, contentType,
		begin)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestABodyThatDoesNotEndCostsOnlyItsConnection(t *testing.T) {
	t.Parallel()
	var awaited atomic.Int64
	const more = 260 // than the share of requests
	a := newAPI(t, withPages(), func(s *Server) {
		s.limits.bodyTimeout = time.Minute
		s.WaitsForClient = func(context.Context, bool) { awaited.Add(1) }
	})
	begin := func(a *testAPI) (slow []net.Conn) {
		return []net.Conn{
			a.mustDial(t, "/api/products", "application/json", a.key, "{"),
			a.mustDial(t, "/settings/sign-in", "application/x-www-form-urlencoded", "", "e"),
		}
	}
	for range more {
		begin(a)
	}
	poll(t, "each body is awaited", func() bool { return awaited.Load() == 2*more })
	a.try(t, call{path: "/api/products", wantStatus: 200})
	a.try(t, call{method: "POST", path: "/api/products", body: `{"sku":"A","name":"N","price":1}`, wantStatus: 201})
	if got, _ := a.page(t, "GET", "/settings/sign-in", "", nil); got.StatusCode != 200 {
		t.Errorf("sign-in page = %d, want 200", got.StatusCode)
	}
	hasty := a.patient(t, withPages(), func(s *Server) { s.limits.bodyTimeout = 200 * time.Millisecond })
	for _, conn := range begin(hasty) {
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400") {
			t.Fatalf("= %q, %v, want a refusal and the end of the connection", answer, err)
		}
	}
}

// A refused attempt to sign in is answered late, but keeps no place of its address meanwhile.
func TestARefusedSignInCostsOnlyItsConnection(t *testing.T) {
	t.Parallel()
	const share = 256          // of requests
	var responses atomic.Int64 // that have begun
	a := newAPI(t, withPages(), func(s *Server) {
		s.limits.refusalDelay = time.Hour
		s.WaitsForClient = func(_ context.Context, begins bool) { // ends only for a body
			responses.Add(map[bool]int64{true: 1, false: -1}[begins])
		}
	})
	form := url.Values{"email": {"ann@shop.example"}, "password": {"a long password"}}
	network := netip.PrefixFrom(netip.MustParseAddr(a.address), 64).Masked().String()
	refill := ratelimit.Refill{Burst: 30, Every: 20 * time.Second}
	for a.server.Limiter.TakeToken(t.Context(), "pn:"+network, refill).Allowed {
	}
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	var all sync.WaitGroup
	var ended atomic.Int64
	for range share + 20 { // 20 s later one attempt is accepted again
		all.Go(func() {
			w := httptest.NewRecorder()
			a.server.ServeHTTP(w, pageRequest(ctx, a.address, "POST", "/settings/sign-in", "", form))
			if ended.Add(1); w.Code == http.StatusTooManyRequests && ctx.Err() == nil {
				t.Error("a refused attempt was answered at once")
			}
		})
	}
	poll(t, "more refusals than the share wait", func() bool { return responses.Load()-ended.Load() > share })
	if got, _ := a.page(t, "GET", "/settings/sign-in", "", nil); got.StatusCode != 200 {
		t.Errorf("the sign-in page = %d, want 200", got.StatusCode)
	}
	hangUp()
	all.Wait()
}

// Each part of a body has its own time, so a body that takes longer than the timeout is accepted.
func TestASteadyBodyIsAccepted(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(s *Server) { s.limits.bodyTimeout = 2 * time.Second })
	read, write := io.Pipe()
	go func() {
		fmt.Fprint(write, `{"items":[]`)
		for range 4 {
			time.Sleep(600 * time.Millisecond) // this client's pace
			fmt.Fprint(write, strings.Repeat(" ", bodyPart))
		}
		fmt.Fprint(write, `}`)
		write.Close()
	}()
	req, err := http.NewRequestWithContext(t.Context(), "POST", a.url+"/api/products/bulk", read)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := testClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		body, _ := io.ReadAll(resp.Body)
		t.Errorf("= %d %s, want 200", resp.StatusCode, body)
	}
}

// The write timeout of the server begins with the header of a request.
func TestARefusalOfASlowBodyIsSent(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	a := newAPI(t, func(s *Server) { s.limits.body = limit })
	listener := httptest.NewUnstartedServer(a.server)
	listener.Config.WriteTimeout = 200 * time.Millisecond
	listener.Start()
	t.Cleanup(listener.Close)
	conn, err := net.Dial("tcp", listener.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /api/products HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: %s\r\nAuthorization: Bearer %s\r\n"+
		"Connection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", a.address, a.key, 2*limit)
	for range 2 {
		fmt.Fprint(conn, strings.Repeat(" ", limit))
		time.Sleep(200 * time.Millisecond) // this client's pace
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 413") {
		t.Errorf("= %.100q, %v, want 413", answer, err)
	}
}

// A large response that the client does not read waits in a file.
func TestALargeResponseWaitsInAFile(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustHeavyProducts(t, 100)
	want := a.try(t, call{path: "/api/products?per_page=30", wantStatus: 200}).body
	body := a.mustOpen(t, "/api/products?per_page=30")
	a.try(t, call{path: "/api/products", wantStatus: 200})
	if got, err := io.ReadAll(body); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, %v, want the %d bytes of the response from memory", len(got), err, len(want))
	}
}

// An export holds no connection while its client does not read.
func TestAnUnreadExportHoldsNoConnection(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustSell(t, 20_000)
	a.mustHeavyProducts(t, 900)
	paths := []string{
		"/api/reports/export/products?from=2026-03-01&to=2026-03-03", "/api/products/export",
	}
	for _, path := range paths {
		a.mustOpen(t, path)
	}
	conn := a.MustSuper(t)
	poll(t, "no connection is in use", func() bool {
		var busy int
		err := conn.QueryRow(t.Context(), `
			select count(*)
			  from pg_stat_activity
			 where datname = current_database() and application_name = 'storeroom' and state <> 'idle'`).Scan(&busy)
		if err != nil {
			t.Fatal(err)
		}
		return busy == 0
	})
	a.mustHold(t, 1, a.tenant.ID.User(), limits.Export, connect)
}

// A panic in the goroutine that writes an export must not end the program.
func TestAPanicWhileAnExportIsWritten(t *testing.T) {
	t.Parallel()
	export := func(w http.ResponseWriter, r *http.Request) error {
		file := &download{w: w, timeout: time.Second, contentType: "text/csv", name: "x.csv"}
		return file.readAhead(r, func(context.Context, io.Writer) error { panic("broken") })
	}
	class := options{class: limits.Export}
	a := newAPI(t, with(route{"GET", "/api/broken/export", "products:read", export, class}))
	a.try(t, call{path: "/api/broken/export", wantStatus: 500, wantCode: InternalError})
	if !strings.Contains(a.log.String(), "panic: broken") {
		t.Errorf("the log lacks the panic: %s", a.log)
	}
}

// A page of large rows counts as memory until its response begins.
func TestLargeRowsCountAsMemory(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustHeavyProducts(t, 100)
	list := call{path: "/api/products?per_page=100", wantStatus: 200}
	for range 10 { // 3 MB each, counted three times; the share is 48 MiB
		a.try(t, list)
	}
	a.mustHold(t, 1, a.tenant.ID.User(), limits.Bulk, take(limits.Memory, 44<<20))
	a.try(t, call{path: "/api/products", wantStatus: 200})
	list.wantStatus, list.wantCode = 503, ServiceUnavailable
	a.try(t, list)
	if line := a.lastLine(t); !strings.Contains(line.Error, "memory") {
		t.Errorf("logged as %+v, want a warning that names memory", line)
	}
}

// Two requests with the largest bodies wait for locks, with all memory that they need.
func TestTheLargestBodiesOfTwoTenantsLeaveMemoryForOthers(t *testing.T) {
	t.Parallel()
	a := newAPIOn(t, withoutDatabaseTimeouts(t))
	body := func(rows int) string {
		text := strings.Repeat("x", 33_000)
		all := []string{`{"sku":"locked","price":2}`}
		for n := range rows {
			all = append(all, fmt.Sprintf(`{"sku":"P-%d","description":"%s"}`, n, text)) // has no name, so it is not stored
		}
		return `{"items":[` + strings.Join(all, ",") + `]}`
	}
	largest := body(999)
	var wg sync.WaitGroup
	var locks []pgx.Tx
	for _, slug := range []string{"first", "second"} {
		tenant := a.MustTenant(t, slug, withLimit(1_000_000))
		key := a.mustKey(t, tenant, "full")
		lock, err := a.MustSuperAt(t, tenant.ID).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Rollback(context.WithoutCancel(t.Context()))
		locks = append(locks, lock)
		observer := a.MustSuperAt(t, tenant.ID)
		a.try(t, call{
			method: "POST", path: "/api/products", key: key, body: `{"sku":"locked","name":"A","price":1}`, wantStatus: 201,
		})
		const rows = `select from products where tenant_id = $1 for update`
		if _, err := lock.Exec(t.Context(), rows, tenant.ID); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			a.try(t, call{method: "POST", path: "/api/products/bulk", key: key, body: largest, wantStatus: 207})
		})
		for waits := false; !waits; time.Sleep(20 * time.Millisecond) {
			const query = `select exists (select from pg_stat_activity where $1 = any (pg_blocking_pids(pid)))`
			err := observer.QueryRow(t.Context(), query, lock.Conn().PgConn().PID()).Scan(&waits)
			if err != nil || t.Failed() {
				t.Fatal("a request has ended, or ", err)
			}
		}
	}
	for range 3 {
		a.tryAsAnother(t, call{method: "POST", path: "/api/products/bulk", body: body(64), wantStatus: 207})
	}
	for _, lock := range locks {
		if err := lock.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}
