//go:build !fuzz

package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestAGeneratedGoClient generates a client from /openapi.json and drives an instance with it. The command in
// api/clients/oapi is a module of its own, so that the program does not need the modules of the generator.
func TestAGeneratedGoClient(t *testing.T) {
	t.Parallel()
	c := newClient(t, "oapi")
	c.run(t, "go", "tool", "oapi-codegen", "-config", "config.yaml", "openapi.json")
	c.run(t, "go", "run", ".")
}

// clientTest is a copy of a folder of api/clients, with the document of an instance.
type clientTest struct {
	folder      string
	environment []string
}

func newClient(t *testing.T, name string) clientTest {
	t.Helper()
	a := newAPI(t)
	later := httptest.NewServer(laterRelease(t, a.url))
	t.Cleanup(later.Close)
	folder := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("clients", name))); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "storeroom"), 0o755); err != nil {
		t.Fatal(err)
	}
	document := a.send(t, call{path: "/openapi.json", key: "-"}).body
	if err := os.WriteFile(filepath.Join(folder, "openapi.json"), document, 0o644); err != nil {
		t.Fatal(err)
	}
	// The client must not follow settings for the module of the service, as -mod=vendor is.
	environment := append(
		os.Environ(), "STOREROOM_URL="+later.URL, "STOREROOM_KEY="+a.key, "GOFLAGS=", "GOWORK=off",
		"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true",
	)
	return clientTest{folder, environment}
}

// run runs a command in the folder and returns its output.
func (c clientTest) run(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, arguments...)
	command.Dir, command.Env = c.folder, c.environment
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, output)
	}
	return string(output)
}

// laterRelease forwards requests to an instance, and adds a field to each object of its responses, as a later
// release may. Clients must ignore it.
func laterRelease(t *testing.T, address string) http.Handler {
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Set("Accept-Encoding", "identity")
		},
		ModifyResponse: addFields,
	}
}

func addFields(r *http.Response) error {
	if r.Header.Get("Content-Type") != "application/json" {
		return nil
	}
	content, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var body any
	if err := decoder.Decode(&body); err != nil {
		return err
	}
	for path, object := range objects(body, "") {
		if !isMap(path) {
			object["added_later"] = "new"
		}
	}
	content, err = json.Marshal(body)
	if err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
	r.Header.Set("Content-Length", strconv.Itoa(len(content)))
	return nil
}
