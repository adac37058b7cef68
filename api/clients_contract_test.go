//go:build contract && !fuzz

package api

import "testing"

// TestAGeneratedOgenClient does the same as TestAGeneratedGoClient. The client of ogen needs four times as long to
// compile, and more memory.
func TestAGeneratedOgenClient(t *testing.T) {
	c := newClient(t, "ogen")
	c.run(t, "go", "tool", "ogen", "-config", "ogen.yml", "-target", "storeroom", "-package", "storeroom", "openapi.json")
	c.run(t, "go", "run", ".")
}

// TestAGeneratedTypeScriptClient also checks the document with the linters Redocly and Spectral.
func TestAGeneratedTypeScriptClient(t *testing.T) {
	c := newClient(t, "typescript")
	c.run(t, "npm", "install", "--no-package-lock", "--no-audit", "--no-fund")
	for _, script := range []string{"generate", "drive", "lint"} {
		t.Log(c.run(t, "npm", "run", "--silent", script))
	}
}
