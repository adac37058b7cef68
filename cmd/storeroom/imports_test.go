package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/storeroom/storeroom"

// allowedImports lists which packages of the module each package may import. A package under cmd that is not listed may
// import all packages. Any other package must be listed.
var allowedImports = map[string][]string{
	"cmd/bench": {
		"api", "api/pages", "catalog", "catalog/media", "deploy/local", "keys", "keys/usage", "migrations", "ratelimit",
		"reports", "reports/sales", "reports/sums", "tenancy", "tenancy/db", "tenancy/limits", "tenancy/money",
		"tenancy/people", "tenancy/tenants", "tenancy/textfill",
	},
	"cmd/storeroom/config": {"api/pages", "catalog/media", "keys", "ratelimit", "tenancy/db"},
	"cmd/storeroom/server": {
		"api", "api/imports", "api/pages", "catalog", "catalog/media", "cmd/storeroom/config", "keys", "keys/usage",
		"migrations", "ratelimit", "reports", "reports/sales", "tenancy", "tenancy/limits", "tenancy/changeplan",
		"tenancy/db", "tenancy/feed", "tenancy/jobs", "tenancy/people", "tenancy/tenants", "tenancy/textfill",
		"tenancy/webhooks",
	},
	"cmd/storeroom/demo": {"catalog", "reports/sales", "tenancy", "tenancy/money", "tenancy/paging"},
	"api": {
		"api/archive", "api/docs", "api/imports", "api/pages", "catalog", "catalog/media", "keys", "keys/usage",
		"ratelimit", "reports", "reports/export", "reports/sales", "tenancy", "tenancy/limits",
		"tenancy/changeplan", "tenancy/db", "tenancy/feed", "tenancy/idempotency", "tenancy/money", "tenancy/paging",
		"tenancy/spool", "tenancy/tenants", "tenancy/webhooks",
	},
	"api/archive": {
		"catalog", "catalog/media", "reports/export", "reports/sales", "tenancy", "tenancy/limits", "tenancy/db",
		"tenancy/tenants",
	},
	"api/docs":         {},
	"api/sdk/generate": {},
	"api/imports": {
		"api/archive", "api/imports/table", "catalog", "catalog/media", "reports/export", "reports/sales", "tenancy",
		"tenancy/limits", "tenancy/changeplan", "tenancy/db", "tenancy/idempotency", "tenancy/money", "tenancy/spool",
		"tenancy/tenants", "tenancy/webhooks",
	},
	"api/imports/table": {"tenancy", "tenancy/money"},
	"api/pages": {
		"api/imports", "api/pages/chart", "catalog", "catalog/media", "keys", "keys/usage", "ratelimit", "reports",
		"reports/export", "reports/sales", "tenancy", "tenancy/limits", "tenancy/changeplan", "tenancy/db",
		"tenancy/feed", "tenancy/money", "tenancy/paging", "tenancy/people", "tenancy/spool", "tenancy/tenants",
		"tenancy/webhooks",
	},
	"api/pages/browser": {},
	"api/pages/chart":   {},
	"catalog": {
		"tenancy", "tenancy/db", "tenancy/money", "tenancy/paging", "tenancy/searchtext", "tenancy/tenants",
		"tenancy/textfill",
	},
	"catalog/media":      {"catalog/media/avif", "tenancy", "tenancy/db", "tenancy/jobs"},
	"catalog/media/avif": {},
	"keys":               {"tenancy", "tenancy/db", "tenancy/tenants"},
	"keys/usage":         {"keys", "tenancy", "tenancy/db", "tenancy/tenants"},
	"reports":            {"reports/sums", "tenancy", "tenancy/db", "tenancy/money", "tenancy/tenants"},
	"reports/export": {
		"catalog", "reports", "reports/sales", "tenancy/limits", "tenancy/money", "tenancy/spool",
	},
	"reports/sales": {
		"catalog", "reports/sums", "tenancy", "tenancy/db", "tenancy/idempotency", "tenancy/money", "tenancy/paging",
		"tenancy/searchtext", "tenancy/tenants", "tenancy/textfill",
	},
	"reports/sums":        {"tenancy/money"},
	"tenancy":             {},
	"tenancy/jobs":        {"tenancy", "tenancy/db"},
	"tenancy/limits":      {},
	"tenancy/spool":       {"tenancy/limits"},
	"tenancy/changeplan":  {"tenancy", "tenancy/db", "tenancy/jobs", "tenancy/limits", "tenancy/paging", "tenancy/tenants"},
	"tenancy/db":          {"tenancy", "tenancy/limits"},
	"tenancy/db/dbtest":   {"migrations", "tenancy", "tenancy/db", "tenancy/tenants"},
	"tenancy/feed":        {"tenancy", "tenancy/db"},
	"tenancy/idempotency": {"tenancy", "tenancy/db"},
	"tenancy/money":       {},
	"tenancy/paging":      {},
	"tenancy/people":      {"tenancy", "tenancy/limits", "tenancy/db", "tenancy/tenants"},
	"tenancy/searchtext":  {},
	"tenancy/tenants":     {"tenancy", "tenancy/db", "tenancy/jobs"},
	"tenancy/textfill":    {"tenancy", "tenancy/db", "tenancy/jobs", "tenancy/searchtext"},
	"tenancy/webhooks":    {"tenancy", "tenancy/db", "tenancy/feed", "tenancy/jobs", "tenancy/paging", "tenancy/tenants"},
	"ratelimit":           {},
	"migrations":          {},
	"deploy":              {},
	"deploy/citus":        {},
	"deploy/local":        {"deploy/citus"},
	"deploy/local/run":    {"deploy/local"},
}

// topFolders are the only folders at the top level. New packages go inside one of them.
var topFolders = []string{"api", "catalog", "cmd", "deploy", "keys", "migrations", "ratelimit", "reports", "tenancy"}

// domain lists the packages that must not import HTTP, because the API, the pages and the commands all call them.
var domain = []string{
	"api/archive",
	"api/imports",
	"api/imports/table",
	"catalog",
	"catalog/media",
	"catalog/media/avif",
	"keys",
	"keys/usage",
	"migrations",
	"ratelimit",
	"reports",
	"reports/export",
	"reports/sales",
	"reports/sums",
	"tenancy",
	"tenancy/changeplan",
	"tenancy/db",
	"tenancy/feed",
	"tenancy/idempotency",
	"tenancy/jobs",
	"tenancy/money",
	"tenancy/paging",
	"tenancy/people",
	"tenancy/searchtext",
	"tenancy/tenants",
	"tenancy/textfill",
}

type goPackage struct {
	ImportPath string
	Imports    []string // without those of test files
}

func TestImportArrows(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		allowed, listed := allowedImports[name]
		program := !listed && strings.HasPrefix(name, "cmd/")
		if top, _, _ := strings.Cut(name, "/"); !slices.Contains(topFolders, top) {
			t.Errorf("package %s is in the folder %s: move it into one of %v", name, top, topFolders)
		}
		if !listed && !program {
			t.Errorf("package %s has no import rule: add one to allowedImports", name)
			continue
		}
		for _, unused := range allowed {
			if !slices.Contains(p.Imports, module+"/"+unused) {
				t.Errorf("%s does not import %s: remove it from allowedImports", name, unused)
			}
		}
		for _, path := range p.Imports {
			imported, ours := strings.CutPrefix(path, module+"/")
			switch {
			case ours && strings.HasSuffix(imported, "test"):
				t.Errorf("%s imports %s, which is for tests only", name, imported)
			case ours && !program && !slices.Contains(allowed, imported):
				t.Errorf("%s imports %s, but it may import only %v", name, imported, allowed)
			case strings.HasSuffix(path, "/pgxpool") && name != "tenancy/db":
				t.Errorf("%s imports pgxpool: only db.DB may access the rows of tenants", name)
			case slices.Contains(domain, name) && (path == "net/http" || strings.HasPrefix(path, "github.com/go-chi/")):
				t.Errorf("%s imports %s: a domain package must not depend on HTTP", name, path)
			}
		}
	}
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found %d packages, want all packages of the module", len(all))
	}
	return all
}
