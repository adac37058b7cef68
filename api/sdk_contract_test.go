//go:build contract && !fuzz

package api

import (
	"os"
	"testing"
)

func init() { sdkRequired = true }

// TestAGeneratedSDKHasTypes compiles the SDK in TypeScript as it is published, and its README and tests with it.
func TestAGeneratedSDKHasTypes(t *testing.T) {
	t.Parallel()
	s := sdkTest{folder: t.TempDir(), environment: os.Environ()}
	if err := os.CopyFS(s.folder, os.DirFS("sdk/typescript")); err != nil {
		t.Fatal(err)
	}
	s.run(t, "npm", "install", "--no-package-lock", "--no-audit", "--no-fund")
	s.run(t, "npm", "run", "--silent", "build")
	s.write(t, "tests/tour.ts", mustBlocks(t, "sdk/typescript/README.md", "ts"))
	s.write(t, "tests/tsconfig.json", `{"extends": "../tsconfig.json", "compilerOptions": {"noEmit": true, "rootDir": ".."},
		"include": ["."]}`)
	s.run(t, "npx", "tsc", "-p", "tests")
}
