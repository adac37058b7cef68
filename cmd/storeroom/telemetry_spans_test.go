package main

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// serverSpan returns the span without a parent.
func serverSpan(spans []*tracepb.Span) *tracepb.Span {
	for _, s := range spans {
		if len(s.ParentSpanId) == 0 {
			return s
		}
	}
	return nil
}

func (w *tracedServer) checkSpanNames(t *testing.T, operations [][3]string) {
	seen, refused := map[string]bool{}, map[string]bool{}
	for _, spans := range w.traces() {
		s := serverSpan(spans)
		if s == nil || s.Name == planSpan {
			continue
		}
		a := attributesOf(s.Attributes)
		seen[s.Name] = true
		if strings.HasPrefix(a["http.route"], "/settings/t/{slug}/") && a["http.response.status_code"] == "200" &&
			a["storeroom.tenant.id"] != fmt.Sprint(w.tenant.ID) {
			t.Errorf("the span %s has the tenant %q, want %d", s.Name, a["storeroom.tenant.id"], w.tenant.ID)
		}
		if a["http.response.status_code"] >= "400" {
			refused[s.Name] = true
		}
		if want := a["http.request.method"] + " " + a["http.route"]; s.Name != strings.TrimSuffix(want, " ") ||
			s.Kind != tracepb.Span_SPAN_KIND_SERVER {
			t.Errorf("the server span is %q of kind %v, want %q", s.Name, s.Kind, want)
		}
	}
	want := []string{
		"GET /docs/*", "GET /docs.md", "GET /llms.txt", "POST /mcp/find_products", "POST /mcp/order", "POST /mcp/report",
		"POST /mcp/propose_stock_counts",
	}
	for _, o := range operations {
		want = append(want, o[0]+" "+o[1])
		if name := o[0] + " " + o[1]; strings.HasPrefix(o[1], "/api/") && !refused[name] {
			t.Errorf("no request to %s was refused", name)
		}
	}
	for _, name := range slices.Concat(want, settingsRoutes(t)) {
		if name != "GET /" {
			name = strings.TrimSuffix(name, "/") // as in the pattern of chi
		}
		if seen[name] == isProbe(name) { // load balancers ask every second
			t.Errorf("%s has a span: %v", name, seen[name])
		}
	}
	for name := range seen {
		if method, route, _ := strings.Cut(name, " "); route != "" && method != "HEAD" && !slices.Contains(want, name) &&
			!strings.HasPrefix(route, "/settings") {
			t.Errorf("the span name %s is not a route", name)
		}
	}
}

// planSpan is the name of the span of the work on a change plan, which has a trace of its own.
const planSpan = "change plan"

func isProbe(route string) bool { return route == "GET /healthz" || route == "GET /readyz" }

// spansOf returns the spans of the server for a request. The server span links to the trace that the request sent.
func spansOf(traces map[string][]*tracepb.Span, s testRequest) []*tracepb.Span {
	for _, spans := range traces {
		if root := serverSpan(spans); root != nil && len(root.Links) == 1 &&
			hex.EncodeToString(root.Links[0].TraceId) == s.trace {
			return spans
		}
	}
	return nil
}

// cost counts the round trips of a request.
type cost struct {
	roundTrips, statements, decisions int
	lookups                           int // of the key, whose cache entry may expire at any time
	names                             []string
}

func costOf(t *testing.T, spans []*tracepb.Span) (c cost) {
	t.Helper()
	for _, s := range spans {
		a := attributesOf(s.Attributes)
		switch {
		case a["db.system.name"] == "redis":
			c.decisions++
		case strings.Contains(s.Name, "find_key"):
			c.lookups++
		case a["db.system.name"] == "postgresql":
			c.roundTrips++
			c.names = append(c.names, s.Name)
			c.statements += mustInt(t, cmp.Or(a["db.operation.batch.size"], "1"))
		}
	}
	c.leaveOutWaiting()
	return c
}

// leaveOutWaiting leaves out repetitions of a pair of statements. A request repeats it while a worker is busy, which
// takes as long as other tests allow.
func (c *cost) leaveOutWaiting() {
	for i := 2; i+2 <= len(c.names); {
		if c.names[i] == c.names[i-2] && c.names[i+1] == c.names[i-1] && strings.Contains(c.names[i], "claim_due_change_plan") {
			c.names = slices.Delete(c.names, i, i+2)
			c.roundTrips, c.statements = c.roundTrips-2, c.statements-2
			continue
		}
		i++
	}
}

// pageBudgets is the maximum cost of a page by route: round trips and statements.
var pageBudgets = map[string][2]int{
	"GET /settings":                                 {1, 1},
	"POST /settings/sign-in":                        {3, 3},
	"GET /settings/sign-out":                        {1, 1},
	"POST /settings/sign-out":                       {1, 1},
	"GET /settings/password":                        {1, 1},
	"POST /settings/password":                       {3, 3},
	"GET /settings/link/{token}":                    {1, 1},
	"POST /settings/link/{token}":                   {6, 9},
	"GET /settings/t/{slug}":                        {1, 1},
	"GET /settings/t/{slug}/account":                {1, 1},
	"GET /settings/t/{slug}/audit":                  {2, 4},
	"GET /settings/t/{slug}/usage":                  {4, 11},
	"GET /settings/t/{slug}/start":                  {3, 5},
	"GET /settings/t/{slug}/overview":               {4, 23},
	"GET /settings/t/{slug}/overview.xlsx":          {3, 15},
	"GET /settings/t/{slug}/products":               {4, 9},
	"GET /settings/t/{slug}/products/{id}":          {5, 15},
	"GET /settings/t/{slug}/confirm":                {1, 1},
	"POST /settings/t/{slug}/confirm":               {3, 4},
	"GET /settings/t/{slug}/products.csv":           {5, 11},
	"GET /settings/t/{slug}/products.xlsx":          {3, 10},
	"GET /settings/t/{slug}/orders.csv":             {12, 15},
	"GET /settings/t/{slug}/orders.xlsx":            {4, 12},
	"GET /settings/t/{slug}/order_items.csv":        {5, 13},
	"GET /settings/t/{slug}/refunds.csv":            {5, 13},
	"GET /settings/t/{slug}/orders":                 {3, 9},
	"GET /settings/t/{slug}/orders/{number}":        {3, 7},
	"GET /settings/t/{slug}/customers":              {2, 5},
	"GET /settings/t/{slug}/customers.csv":          {3, 7},
	"GET /settings/t/{slug}/customers.xlsx":         {3, 7},
	"GET /settings/t/{slug}/customers/{id}":         {3, 7},
	"GET /settings/t/{slug}/customers/{id}/data":    {21, 42},
	"GET /settings/t/{slug}/customers/{id}/erase":   {2, 3},
	"POST /settings/t/{slug}/customers/{id}/erase":  {44, 84}, // with a plan that erases from other plans
	"GET /settings/t/{slug}/keys":                   {3, 5},
	"POST /settings/t/{slug}/keys":                  {9, 9},
	"GET /settings/t/{slug}/keys/new":               {1, 1},
	"GET /settings/t/{slug}/keys/{id}/roll":         {3, 5},
	"POST /settings/t/{slug}/keys/{id}/roll":        {13, 15},
	"GET /settings/t/{slug}/keys/{id}/revoke":       {3, 5},
	"POST /settings/t/{slug}/keys/{id}/revoke":      {5, 11},
	"GET /settings/t/{slug}/members":                {3, 5},
	"POST /settings/t/{slug}/members":               {3, 6},
	"GET /settings/t/{slug}/members/{id}":           {2, 3},
	"POST /settings/t/{slug}/members/{id}/role":     {4, 8},
	"POST /settings/t/{slug}/members/{id}/reset":    {4, 8},
	"GET /settings/t/{slug}/members/{id}/remove":    {3, 5},
	"POST /settings/t/{slug}/members/{id}/remove":   {4, 8},
	"GET /settings/t/{slug}/links/{id}/revoke":      {2, 3},
	"POST /settings/t/{slug}/links/{id}/revoke":     {3, 6},
	"GET /settings/t/{slug}/archive.zip":            {32, 35},
	"GET /settings/t/{slug}/imports":                {2, 5},
	"POST /settings/t/{slug}/imports":               {10, 11},
	"GET /settings/t/{slug}/imports/{id}":           {9, 14}, // after it is planned: two parts of the rows
	"GET /settings/t/{slug}/imports/{id}/progress":  {3, 5},
	"GET /settings/t/{slug}/imports/{id}/refused":   {5, 9},
	"POST /settings/t/{slug}/imports/{id}/settings": {9, 13},
	"POST /settings/t/{slug}/imports/{id}/apply":    {8, 12},
	"POST /settings/t/{slug}/imports/{id}/cancel":   {9, 14},
	"GET /settings/t/{slug}/imports/{id}/undo":      {3, 5},
	"POST /settings/t/{slug}/imports/{id}/undo":     {8, 12},
	"GET /settings/t/{slug}/plans":                  {2, 5},
	"GET /settings/t/{slug}/plans/{id}":             {8, 13},
	"GET /settings/t/{slug}/plans/{id}/progress":    {3, 5},
	"POST /settings/t/{slug}/plans/{id}/apply":      {8, 12},
	"POST /settings/t/{slug}/plans/{id}/cancel":     {9, 14},
	"GET /settings/t/{slug}/plans/{id}/undo":        {3, 5},
	"POST /settings/t/{slug}/plans/{id}/undo":       {8, 12},
	"GET /settings/t/{slug}/webhooks":               {2, 3},
	"GET /settings/t/{slug}/webhooks/new":           {1, 1},
	"POST /settings/t/{slug}/webhooks":              {4, 13},
	"GET /settings/t/{slug}/webhooks/{id}":          {3, 7},
	"POST /settings/t/{slug}/webhooks/{id}":         {3, 7},
	"POST /settings/t/{slug}/webhooks/{id}/state":   {3, 7},
	"POST /settings/t/{slug}/webhooks/{id}/test":    {5, 11},
	"POST /settings/t/{slug}/webhooks/{id}/rotate":  {3, 7},
	"POST /settings/t/{slug}/webhooks/{id}/replay":  {4, 11},
	"GET /settings/t/{slug}/webhooks/{id}/delete":   {2, 3},
	"POST /settings/t/{slug}/webhooks/{id}/delete":  {3, 7},
}

func (w *tracedServer) checkPageBudgets(t *testing.T) {
	for _, spans := range w.traces() {
		root := serverSpan(spans)
		if root == nil || !strings.Contains(root.Name, " /settings") {
			continue
		}
		c, budget := costOf(t, spans), pageBudgets[root.Name]
		if c.roundTrips > budget[0] || c.statements > budget[1] {
			t.Errorf(
				"%s: %d round trips, %d statements, want at most %v: %q", root.Name, c.roundTrips, c.statements, budget,
				c.names)
		}
	}
}

func (w *tracedServer) checkBudgets(t *testing.T, operations [][3]string, sent []testRequest) {
	traces, covered := w.traces(), map[string]bool{}
	for i, b := range budgets {
		if isProbe(b.route) {
			covered[b.route] = true
			continue
		}
		spans := spansOf(traces, sent[i])
		root := serverSpan(spans)
		if root == nil || root.Name != b.route {
			t.Errorf("%s %s has the span %q, want %s", sent[i].method, sent[i].path, root.GetName(), b.route)
			continue
		}
		covered[b.route] = true
		c := costOf(t, spans)
		want := 0
		if strings.HasPrefix(sent[i].path, "/api/") || sent[i].path == "/mcp" {
			want = 1 + c.lookups // an uncached key also takes a token of its address
		}
		if c.roundTrips > b.roundTrips || c.statements > b.statements || c.decisions != want {
			t.Errorf(
				"%s %s: %d round trips, %d statements, %d decisions, want at most %d, %d, and %d: %q", sent[i].method,
				sent[i].path, c.roundTrips, c.statements, c.decisions, b.roundTrips, b.statements, want, c.names)
		}
		a := attributesOf(root.Attributes)
		if want > 0 && (a["storeroom.tenant.id"] != fmt.Sprint(w.tenant.ID) || a["storeroom.key.id"] == "" ||
			a["storeroom.plan"] != "enterprise") {
			t.Errorf("%s: the span has the attributes %v, want tenant, key and plan", b.route, a)
		}
	}
	for _, o := range operations {
		if name := o[0] + " " + o[1]; !covered[name] {
			t.Errorf("%s has no budget", name)
		}
	}
}

// checkTraceTrees requires that every trace has one server span, whose children are client spans with a query, and
// waits.
func (w *tracedServer) checkTraceTrees(t *testing.T) {
	for id, spans := range w.traces() {
		root := serverSpan(spans)
		if root == nil {
			t.Errorf("the trace %x has no server span: %v", id, spans)
			continue
		}
		if a := attributesOf(root.Attributes); root.Name == planSpan {
			if a["storeroom.tenant.id"] != fmt.Sprint(w.tenant.ID) || a["storeroom.change_plan.id"] == "" {
				t.Errorf("the span of a plan has the attributes %v, want its tenant and its id", a)
			}
			continue
		}
		for _, s := range spans {
			a := attributesOf(s.Attributes)
			if s == root {
				continue
			}
			isWork := s.Name == "encode" || s.Name == "send" || strings.HasPrefix(s.Name, "wait for ")
			if isWork && s.Kind == tracepb.Span_SPAN_KIND_INTERNAL && bytes.Equal(s.ParentSpanId, root.SpanId) {
				continue
			}
			if !bytes.Equal(s.ParentSpanId, root.SpanId) || s.Kind != tracepb.Span_SPAN_KIND_CLIENT ||
				a["db.system.name"] == "" || s.Name == "" {
				t.Errorf(
					"%q below %q has the kind %v, the parent %x and the attributes %v, want a client span of the server span",
					s.Name, root.Name, s.Kind, s.ParentSpanId, a)
			}
			if a["db.system.name"] == "postgresql" && a["db.query.text"] == "" && a["db.query.summary"] == "" {
				t.Errorf("%q below %q has no query: %v", s.Name, root.Name, a)
			}
			if failed := s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR; failed != (a["error.type"] != "") ||
				s.GetStatus().GetMessage() != "" {
				t.Errorf("%q below %q: status %v with %v", s.Name, root.Name, s.Status, a)
			}
		}
		for _, l := range root.Links { // the trace of the client is linked, but not continued
			if bytes.Equal(l.TraceId, root.TraceId) || l.TraceState != "" || root.TraceState != "" {
				t.Errorf("%s of %x is spansOf to %v, with the state %q", root.Name, root.TraceId, l, root.TraceState)
			}
		}
		a := attributesOf(root.Attributes)
		failed := a["http.response.status_code"] >= "500"
		if failed != (root.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR) || failed != (a["error.type"] != "") {
			t.Errorf(
				"%s = %s has the status %v and the error %q", root.Name, a["http.response.status_code"], root.Status,
				a["error.type"])
		}
	}
}

// metricAttributes lists the metrics of the program with their attributes.
var metricAttributes = map[string]string{
	"http.server.request.duration": "http.request.method,http.route,http.response.status_code,url.scheme," +
		"error.type",
	"http.server.active_requests":           "http.request.method,url.scheme",
	"db.client.operation.duration":          "db.system.name,error.type",
	"db.client.connection.count":            "db.client.connection.pool.name,db.client.connection.state",
	"db.client.connection.max":              "db.client.connection.pool.name",
	"db.client.connection.pending_requests": "db.client.connection.pool.name",
	"db.client.connection.timeouts":         "db.client.connection.pool.name",
	"db.client.connection.wait_time":        "db.client.connection.pool.name",
	"storeroom.replica.reads":               "storeroom.replica,storeroom.outcome",
	"storeroom.replica.wait":                "",
	"storeroom.replica.in_use":              "storeroom.replica",
	"storeroom.auth.results":                "storeroom.auth.result",
	"storeroom.auth.cache":                  "storeroom.auth.cache.result",
	"storeroom.auth.cache.entries":          "",
	"storeroom.auth.listening":              "",
	"storeroom.auth.invalidation.lag":       "",
	"storeroom.feed.lag":                    "",
	"storeroom.webhooks.lag":                "",
	"storeroom.webhooks.attempts":           "storeroom.webhook.outcome",
	"storeroom.webhooks.paused":             "storeroom.webhook.reason",
	"storeroom.webhooks.claims":             "storeroom.webhook.outcome",
	"storeroom.ratelimit.decisions": "storeroom.ratelimit.kind,storeroom.ratelimit.outcome," +
		"storeroom.ratelimit.source,storeroom.plan",
	"storeroom.ratelimit.duration":        "storeroom.ratelimit.source",
	"storeroom.ratelimit.away":            "",
	"storeroom.ratelimit.instances":       "",
	"storeroom.ratelimit.errors":          "",
	"storeroom.idempotency.requests":      "storeroom.idempotency.outcome",
	"storeroom.usage.dropped":             "",
	"storeroom.image.duration":            "storeroom.image.result",
	"storeroom.media.failures":            "storeroom.media.operation",
	"storeroom.work.active":               "storeroom.work.kind",
	"storeroom.work.waiting":              "storeroom.work.kind",
	"storeroom.work.refused":              "storeroom.work.kind",
	"storeroom.rows.ingested":             "storeroom.row.kind",
	"storeroom.change_plan.part.duration": "storeroom.change_plan.phase",
	"storeroom.change_plans.ended":        "storeroom.change_plan.state",
	"storeroom.tenancy.violations":        "storeroom.violation",
	"storeroom.ready":                     "",
	"storeroom.temporary.free":            "",
	"storeroom.database.size":             "",
	"storeroom.database.limit":            "",
	"process_resident_memory_bytes":       "",
	"process_cpu_seconds_total":           "",
	"process_open_fds":                    "",
}

func (w *tracedServer) checkMetricAttributes(t *testing.T) {
	seen := map[string]bool{}
	for point := range w.points() {
		name, pairs, _ := strings.Cut(strings.TrimSuffix(point, "}"), "{")
		allowed, known := metricAttributes[name]
		if !known {
			if !strings.HasPrefix(name, "go.") && !strings.HasPrefix(name, "process_") {
				t.Errorf("the metric %s is not in the list", name)
			}
			continue
		}
		seen[name] = true
		for pair := range strings.SplitSeq(pairs, ",") {
			if attribute, _, _ := strings.Cut(pair, "="); attribute != "" &&
				!slices.Contains(strings.Split(allowed, ","), attribute) {
				t.Errorf("%s has the attribute %s", name, pair)
			}
		}
	}
	// These count events that do not happen in this test, which has no replica.
	never := []string{
		"storeroom.replica.reads", "storeroom.replica.wait", "storeroom.replica.in_use",
		"db.client.connection.timeouts", "storeroom.work.refused", "storeroom.tenancy.violations",
		"storeroom.ratelimit.errors", "storeroom.usage.dropped", "storeroom.image.duration", "storeroom.media.failures",
		"storeroom.change_plan.part.duration", "storeroom.change_plans.ended", "storeroom.webhooks.lag",
		"storeroom.webhooks.paused", "storeroom.database.size", "storeroom.database.limit",
	}
	for name := range metricAttributes {
		if !seen[name] && !slices.Contains(never, name) {
			t.Errorf("%s was not exported", name)
		}
	}
}

// checkLogCorrelation requires a log record for every request, on stderr and over OTLP, with the ids of its span.
func (w *tracedServer) checkLogCorrelation(t *testing.T) {
	names := map[string]string{}
	for _, spans := range w.traces() {
		if s := serverSpan(spans); s != nil {
			names[hex.EncodeToString(s.TraceId)+hex.EncodeToString(s.SpanId)] = s.Name
		}
	}
	var lines, records int
	for line := range strings.Lines(w.server.stderr.String()) {
		var entry struct {
			Msg, Method, Route string
			TraceID            string `json:"trace_id"`
			SpanID             string `json:"span_id"`
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if entry.Msg != "request" || isProbe(entry.Method+" "+entry.Route) {
			continue
		}
		lines++
		if want := strings.TrimSpace(entry.Method + " " + entry.Route); names[entry.TraceID+entry.SpanID] != want {
			t.Errorf("the record of %q has the ids of %q: %s", want, names[entry.TraceID+entry.SpanID], line)
		}
	}
	for _, r := range w.records() {
		if r.Body.GetStringValue() != "request" {
			continue
		}
		a := attributesOf(r.Attributes)
		if isProbe(a["method"] + " " + a["route"]) {
			continue
		}
		records++
		span := hex.EncodeToString(r.TraceId) + hex.EncodeToString(r.SpanId)
		if want := strings.TrimSpace(a["method"] + " " + a["route"]); names[span] != want {
			t.Errorf(
				"the exported record of %q has the ids of %q", want,
				names[hex.EncodeToString(r.TraceId)+hex.EncodeToString(r.SpanId)])
		}
	}
	if lines != records || int64(lines) < w.sent.Load()-2 {
		t.Errorf("%d requests have %d records on stderr and %d exported records", w.sent.Load(), lines, records)
	}
}
