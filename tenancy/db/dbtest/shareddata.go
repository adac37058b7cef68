package dbtest

import (
	"os"
	"path/filepath"
	"testing"
)

// SharedData returns a folder of the real shop data beside the clone, which is not part of it. It skips the test if the
// folder is absent. Other tests are skipped only where a cluster or the kernel cannot run them.
func SharedData(t testing.TB, name string) string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			t.Fatal("no go.mod above the test")
		}
	}
	dir := filepath.Join(root, "..", "shared", "data", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no real data beside the clone: %v", err)
	}
	return dir
}
