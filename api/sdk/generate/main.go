// Command generate writes the generated files of the SDKs from openapi.yaml. Run it in the root of the repository:
//
//	go run ./api/sdk/generate
//
// The generated files have the types and one method for each operation. What all operations share, such as retries, is
// written by hand beside them. The documentation has copies of the guides of the SDKs, because a program cannot embed
// files of another module.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	contract := flag.String("contract", "api/openapi.yaml", "the document to read")
	folder := flag.String("folder", "api/sdk", "the folder of the SDKs")
	flag.Parse()
	if err := run(*contract, *folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(contract, folder string) error {
	document, err := readDocument(contract)
	if err != nil {
		return err
	}
	s := newSDK(document)
	for _, file := range []struct {
		path  string
		write func(*sdk) ([]byte, error)
	}{
		{"go/generated.go", writeGo},
		{"typescript/src/generated.ts", writeTypeScript},
		{"python/storeroom/generated.py", writePython},
	} {
		content, err := file.write(s)
		if err != nil {
			return fmt.Errorf("generate %s: %w", file.path, err)
		}
		if err := os.WriteFile(filepath.Join(folder, file.path), content, 0o644); err != nil {
			return err
		}
	}
	for _, language := range []string{"go", "typescript", "python"} {
		guide, err := os.ReadFile(filepath.Join(filepath.Dir(contract), "sdk", language, "README.md"))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, "../docs/guides", language+".md"), guide, 0o644); err != nil {
			return err
		}
	}
	return nil
}
