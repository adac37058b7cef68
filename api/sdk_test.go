//go:build !fuzz

package api

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// sdkRequired says that a missing interpreter is a failure. `make test-contract` sets it.
var sdkRequired = false

// TestAGeneratedSDKIsCurrent generates the SDKs again.
func TestAGeneratedSDKIsCurrent(t *testing.T) {
	t.Parallel()
	files := []string{
		"go/generated.go", "typescript/src/generated.ts", "python/storeroom/generated.py", "../docs/guides/go.md",
		"../docs/guides/typescript.md", "../docs/guides/python.md",
	}
	folder := filepath.Join(t.TempDir(), "sdk")
	for _, file := range files {
		if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(file)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sdkTest{folder: "."}.run(t, "go", "run", "./sdk/generate", "-contract", "openapi.yaml", "-folder", folder)
	for _, file := range files {
		if !bytes.Equal(mustRead(t, filepath.Join(folder, file)), mustRead(t, filepath.Join("sdk", file))) {
			t.Errorf("api/sdk/%s is not current: go run ./api/sdk/generate", file)
		}
	}
}

func TestAGeneratedSDKInGo(t *testing.T) {
	t.Parallel()
	s := newSDKTest(t)
	s.environment = append(s.environment, "GOFLAGS=", "GOWORK=off")
	sdk, err := filepath.Abs("sdk/go")
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "go.mod", "module tour\n\ngo 1.24\n\nrequire github.com/storeroom/storeroom/api/sdk/go v0.1.0\n\n"+
		"replace github.com/storeroom/storeroom/api/sdk/go => "+sdk+"\n")
	s.write(t, "tour/main.go", `package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	storeroom "github.com/storeroom/storeroom/api/sdk/go"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
`+mustBlocks(t, "sdk/go/README.md", "go")+`
	return nil
}
`)
	s.write(t, "faults/main.go", string(mustRead(t, "sdk/go/testdata/faults/main.go")))
	s.tour(t, "go", "run", "./tour")
	s.faults(t, "go", "run", "./faults")
}

func TestAGeneratedSDKInPython(t *testing.T) {
	t.Parallel()
	python := mustInterpreter(t, "/usr/bin/python3", "python3", "import sys; sys.exit(sys.version_info < (3, 11))", "-c")
	s := newSDKTest(t)
	sdk, err := filepath.Abs("sdk/python")
	if err != nil {
		t.Fatal(err)
	}
	s.environment = append(s.environment, "PYTHONPATH="+sdk, "PYTHONDONTWRITEBYTECODE=1")
	s.write(t, "tour.py", mustBlocks(t, "sdk/python/README.md", "python"))
	s.tour(t, python, "-W", "error", "tour.py")
	s.faults(t, python, filepath.Join(sdk, "tests", "faults.py"))
}

// TestAGeneratedSDKInTypeScript removes the types with esbuild, because no version of Node that Debian has does. See
// TestAGeneratedSDKHasTypes for the types.
func TestAGeneratedSDKInTypeScript(t *testing.T) {
	t.Parallel()
	node := mustInterpreter(t, "node", "nodejs", "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)", "-e")
	s := newSDKTest(t)
	s.environment = append(s.environment, "GOFLAGS=", "GOWORK=off")
	s.write(t, "package.json", `{"type": "module"}`)
	s.write(t, "tour.ts", mustBlocks(t, "sdk/typescript/README.md", "ts"))
	s.write(t, "faults.ts", string(mustRead(t, "sdk/typescript/tests/faults.ts")))
	installed := "node_modules/@storeroom/client/"
	s.write(t, installed+"package.json", string(mustRead(t, "sdk/typescript/package.json")))
	sources, err := filepath.Glob("sdk/typescript/src/*.ts")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		s.write(t, "src/"+filepath.Base(source), string(mustRead(t, source)))
	}
	esbuild := []string{"run", "github.com/evanw/esbuild/cmd/esbuild@v0.25.12", "--log-level=warning"}
	s.run(t, "go", append(esbuild, "--outdir="+installed+"dist", "src/*.ts")...)
	s.run(t, "go", append(esbuild, "--outdir=.", "tour.ts", "faults.ts")...)
	s.tour(t, node, "tour.js")
	s.faults(t, node, "faults.js")
}

// TestTheStartGuideRuns runs the commands of the first page of the documentation. Its other samples are those of the
// tours.
func TestTheStartGuideRuns(t *testing.T) {
	t.Parallel()
	mustInterpreter(t, "curl", "curl", "--version", "--disable")
	s := newSDKTest(t)
	export, commands, _ := strings.Cut(mustBlocks(t, "docs/guides/start.md", "sh"), "\n")
	if !strings.HasPrefix(export, "export STOREROOM_URL=") {
		t.Errorf("the guide begins with %s", export)
	}
	s.environment = append(s.environment, "STOREROOM_URL="+s.url, "STOREROOM_KEY="+s.key)
	s.run(t, "sh", "-euc", commands)
	s.checkTour(t)
}

// mustInterpreter returns the first of two programs that a script accepts.
func mustInterpreter(t *testing.T, first, second, script, option string) string {
	t.Helper()
	for _, name := range []string{first, second} {
		if exec.CommandContext(t.Context(), name, option, script).Run() == nil {
			return name
		}
	}
	if sdkRequired {
		t.Fatalf("%s is not installed, or too old", second)
	}
	t.Skipf("%s is not installed, or too old", second)
	return ""
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// mustBlocks returns the lines of code of a document.
func mustBlocks(t *testing.T, path, language string) string {
	t.Helper()
	var code strings.Builder
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(mustRead(t, path), -1) {
		code.Write(block[1])
	}
	if code.Len() == 0 {
		t.Fatalf("%s has no code", path)
	}
	return code.String()
}

// sdkTest runs programs against an instance.
type sdkTest struct {
	*testAPI
	folder      string
	environment []string
}

func newSDKTest(t *testing.T) sdkTest {
	t.Helper()
	return sdkTest{testAPI: newImportAPI(t), folder: t.TempDir(), environment: os.Environ()}
}

func (s sdkTest) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(s.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (s sdkTest) run(t *testing.T, name string, arguments ...string) {
	t.Helper()
	clientTest{s.folder, s.environment}.run(t, name, arguments...)
}

// tour runs the lines of the README against a later release, whose responses have fields that the SDK does not know.
func (s sdkTest) tour(t *testing.T, name string, arguments ...string) {
	t.Helper()
	later := httptest.NewServer(laterRelease(t, s.url))
	defer later.Close()
	s.environment = append(s.environment, "STOREROOM_URL="+later.URL, "STOREROOM_KEY="+s.key)
	s.run(t, name, arguments...)
	s.checkTour(t)
}

func (s sdkTest) checkTour(t *testing.T) {
	t.Helper()
	product := mustData(t, s.try(t, call{path: "/api/products/sku/TOUR-1", wantStatus: 200}))
	order := mustData(t, s.try(t, call{path: "/api/orders/T-1", wantStatus: 200}))
	if product["name"] != "Blue enamel mug" || product["price"] != "12.50" || order["refunded_total"] != "12.50" {
		t.Errorf("the product is %v, the order %v", product, order)
	}
}

// faults runs a program whose requests fail as their header X-Fault says, and checks that each was executed once.
func (s sdkTest) faults(t *testing.T, name string, arguments ...string) {
	t.Helper()
	broken := httptest.NewServer(newFaults(t, s.url))
	defer broken.Close()
	s.environment = append(s.environment, "STOREROOM_URL="+broken.URL, "STOREROOM_KEY="+s.key, "WEBHOOK="+signedMessage(t))
	s.run(t, name, arguments...)
	orders := mustDecode[map[string]any](t, s.try(t, call{path: "/api/orders?search=F-", wantStatus: 200}).body)
	if total := orders["meta"].(map[string]any)["total"]; total != float64(len(faultNames)) {
		t.Errorf("%v orders, want one for each fault", total)
	}
	for _, fault := range faultNames {
		order := mustData(t, s.try(t, call{path: "/api/orders/F-" + fault, wantStatus: 200}))
		if refunds := order["refunds"].([]any); len(refunds) != 1 {
			t.Errorf("after %s the order has %d refunds", fault, len(refunds))
		}
		if images := s.mustImages(t, s.productID(t, "F-"+fault)); len(images) != 1 {
			t.Errorf("after %s the product has %d images", fault, len(images))
		}
		ledger := mustDecode[map[string]any](t, s.try(t, call{
			path: fmt.Sprintf("/api/products/%d/inventory/adjustments", s.productID(t, "F-"+fault)), wantStatus: 200,
		}).body)
		if adjustments := ledger["data"].([]any); len(adjustments) != 2 {
			t.Errorf("after %s the ledger has %d rows", fault, len(adjustments))
		}
	}
}

func (s sdkTest) productID(t *testing.T, sku string) int64 {
	t.Helper()
	return int64(mustData(t, s.try(t, call{path: "/api/products/sku/" + sku, wantStatus: 200}))["id"].(float64))
}

// faultNames are the faults of which every request must recover.
var faultNames = []string{"limited", "busy", "refused", "lost", "cut", "twice"}

// faults forwards requests. The first request with a value of X-Fault fails, as the word before the point says.
type faults struct {
	http.Handler
	mu   sync.Mutex
	seen map[string]bool
}

func newFaults(t *testing.T, address string) *faults {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return &faults{
		Handler: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Set("Accept-Encoding", "identity")
		}},
		seen: map[string]bool{},
	}
}

// ServeHTTP forwards a request, or fails.
func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fault := r.Header.Get("X-Fault")
	f.mu.Lock()
	first := fault != "" && !f.seen[fault]
	f.seen[fault] = true
	f.mu.Unlock()
	name, _, _ := strings.Cut(fault, ".")
	if !first {
		f.Handler.ServeHTTP(w, r)
		return
	}
	body := new(bytes.Buffer)
	if _, err := body.ReadFrom(r.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
	forward := func() *httptest.ResponseRecorder {
		copied := r.Clone(r.Context())
		copied.Body = http.NoBody
		if body.Len() > 0 {
			copied.Body = readCloser{bytes.NewReader(body.Bytes())}
		}
		recorder := httptest.NewRecorder()
		f.Handler.ServeHTTP(recorder, copied)
		return recorder
	}
	switch name {
	case "limited", "later":
		w.Header().Set("Retry-After", map[string]string{"limited": "1", "later": "3600"}[name])
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"success":false,"error":{"code":"RATE_LIMIT_EXCEEDED","message":"Rate limit exceeded."}}`)
	case "busy": // a proxy answers
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `<html>No server is available.</html>`)
	case "refused":
		panic(http.ErrAbortHandler)
	case "lost": // the request is executed
		forward()
		panic(http.ErrAbortHandler)
	case "cut": // the response ends before its end
		sendPart(w, forward())
	case "twice": // the network delivers the request twice, and the client gets both responses
		sendBoth(w, forward(), forward())
	}
}

// readCloser is a body that does not need to be closed.
type readCloser struct{ *bytes.Reader }

// Close does nothing.
func (readCloser) Close() error { return nil }

func sendPart(w http.ResponseWriter, response *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", response.Header().Get("Content-Type"))
	w.WriteHeader(response.Code)
	_, _ = w.Write(response.Body.Bytes()[:response.Body.Len()/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// sendBoth writes two responses to a connection that stays open for the next request.
func sendBoth(w http.ResponseWriter, responses ...*httptest.ResponseRecorder) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	for _, response := range responses {
		var b bytes.Buffer
		header := response.Header().Clone()
		header.Del("Transfer-Encoding")
		if response.Code != http.StatusNoContent {
			header.Set("Content-Length", strconv.Itoa(response.Body.Len()))
		}
		fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", response.Code, http.StatusText(response.Code))
		_ = header.Write(&b)
		b.WriteString("\r\n")
		b.Write(response.Body.Bytes())
		_, _ = conn.Write(b.Bytes())
	}
	_ = conn.SetDeadline(time.Now().Add(200 * time.Millisecond))
	_, _ = conn.Read(make([]byte, 1)) // until the client sends another request or closes the connection
}

// signedMessage returns a message of a webhook as JSON, with its secret and headers.
func signedMessage(t *testing.T) string {
	t.Helper()
	at, body := strconv.FormatInt(time.Now().Unix(), 10), `{"type":"changes","timestamp":"2026-03-01T09:30:00.000000Z","data":[],"later":"ü"}`
	mac := hmac.New(sha256.New, []byte("a secret of a webhook"))
	fmt.Fprintf(mac, "msg_1.%s.%s", at, body)
	message, err := json.Marshal(map[string]any{
		"secret": "whsec_" + base64.StdEncoding.EncodeToString([]byte("a secret of a webhook")), "body": body,
		"headers": map[string]string{
			"webhook-id": "msg_1", "webhook-timestamp": at, // with the signature of an earlier secret
			"webhook-signature": "v1,AAAA v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(message)
}
