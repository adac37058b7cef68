//go:build ops

package deploy

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"github.com/storeroom/storeroom/keys"
)

// The validators and the Kubernetes schemas come from the Go module proxy.
const (
	kustomize   = "sigs.k8s.io/kustomize/kustomize/v5@v5.8.1"
	kubeconform = "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0"
	kubernetes  = "k8s.io/kubernetes@v1.36.1"
	composeSpec = "github.com/compose-spec/compose-go/v2/cmd@v2.10.2"
	gitleaks    = "github.com/zricethezav/gitleaks/v8@v8.28.0"
)

// TestKubernetesManifestsConform builds the manifests as kubectl does and validates every
// field against the Kubernetes schemas.
func TestKubernetesManifestsConform(t *testing.T) {
	t.Parallel()
	schemas := kubernetesSchemas(t)
	manifests := map[string]string{}
	for _, dir := range kustomizations(t) {
		manifests[dir] = mustCommand(t, nil, "go", "run", kustomize, "build", dir)
	}
	namespace, err := os.ReadFile("kubernetes/overlays/example/namespace.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manifests["kubernetes/overlays/example/namespace.yaml"] = string(namespace)
	for name, manifest := range manifests {
		t.Run(name, func(t *testing.T) {
			if _, err := conform(t, schemas, manifest); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("kubeconform finds a misspelt field", func(t *testing.T) {
		misspelt := strings.Replace(manifests["kubernetes/base/serve"],
			"terminationGracePeriodSeconds", "terminationGracePeriod", 1)
		if printed, err := conform(t, schemas, misspelt); err == nil {
			t.Errorf("kubeconform accepts an invalid manifest: %s", printed)
		}
	})
}

// conform runs kubeconform on a manifest. A kind without a schema is an error.
func conform(t *testing.T, schemas, manifest string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	return command(
		nil,
		"go",
		"run",
		kubeconform,
		"-strict",
		"-summary",
		"-schema-location",
		schemas+"/{{ .ResourceKind }}{{ .KindSuffix }}.json",
		file,
	)
}

// kustomizations returns the directories with a kustomization.yaml.
func kustomizations(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("kubernetes/*/*/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	nested, err := filepath.Glob("kubernetes/*/*/*/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dirs := make([]string, 0, len(files)+len(nested))
	for _, file := range append(files, nested...) {
		dirs = append(dirs, filepath.Dir(file))
	}
	if len(dirs) < 4 {
		t.Fatalf("kustomizations = %v, want at least four", dirs)
	}
	return dirs
}

// kubernetesSchemas writes a schema for each kind in the manifests, from the OpenAPI document
// in the Kubernetes module.
func kubernetesSchemas(t *testing.T) string {
	t.Helper()
	// In a separate directory, because this module does not depend on it.
	module := downloaded(t, kubernetes)
	content, err := os.ReadFile(filepath.Join(module, "api/openapi-spec/swagger.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document struct{ Definitions map[string]map[string]any }
	if err := json.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, definition := range document.Definitions {
		kinds, _ := definition["x-kubernetes-group-version-kind"].([]any)
		if len(kinds) != 1 {
			continue // lists, options and other kinds that no file contains
		}
		kind := kinds[0].(map[string]any)
		group, _, _ := strings.Cut(kind["group"].(string), ".")
		file := strings.ToLower(kind["kind"].(string)) + "-" + kind["version"].(string) + ".json"
		if group != "" {
			file = strings.ToLower(kind["kind"].(string)) + "-" + group + "-" + kind["version"].(string) + ".json"
		}
		used := map[string]any{}
		collect(document.Definitions, name, used)
		schema, err := json.Marshal(map[string]any{
			"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/" + name, "definitions": used,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), schema, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// collect adds a definition and everything it refers to, made strict.
func collect(all map[string]map[string]any, name string, used map[string]any) {
	if _, known := used[name]; known {
		return
	}
	used[name] = strict(all[name])
	for _, found := range references(all[name]) {
		collect(all, strings.TrimPrefix(found, "#/definitions/"), used)
	}
}

// references lists the values of every $ref below v.
func references(v any) []string {
	var found []string
	switch v := v.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			found = append(found, ref)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			found = append(found, references(v[key])...)
		}
	case []any:
		for _, one := range v {
			found = append(found, references(one)...)
		}
	}
	return found
}

// strict rejects unknown fields, and allows a number where Kubernetes accepts a number or a
// string.
func strict(v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if object["format"] == "int-or-string" {
		return map[string]any{"type": []string{"integer", "string"}}
	}
	copied := map[string]any{}
	for key, value := range object {
		if key == "properties" {
			named := map[string]any{}
			for name, property := range value.(map[string]any) {
				named[name] = strict(property)
			}
			copied[key] = named
			copied["additionalProperties"] = false
			continue
		}
		copied[key] = strict(value)
	}
	return copied
}

// downloaded returns the directory of a module.
func downloaded(t *testing.T, module string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module download\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var downloaded struct{ Dir string }
	printed := mustCommand(t, nil, "go", "-C", dir, "mod", "download", "-json", module)
	if err := json.Unmarshal([]byte(printed), &downloaded); err != nil {
		t.Fatal(err)
	}
	return downloaded.Dir
}

// TestComposeFileConforms loads compose.yaml as Docker Compose does.
func TestComposeFileConforms(t *testing.T) {
	t.Parallel()
	printed := mustCommand(t, nil, "go", "run", composeSpec, "compose.yaml")
	var model struct{ Services map[string]any }
	if err := yaml.Unmarshal([]byte(printed), &model); err != nil {
		t.Fatal(err)
	}
	if len(model.Services) < 8 {
		t.Errorf("services = %v, want all of them", slices.Sorted(maps.Keys(model.Services)))
	}
}

func TestScriptsAreClean(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("shellcheck"); err != nil {
		t.Fatal("shellcheck is not installed: install the package shellcheck")
	}
	scripts, err := filepath.Glob("[bc]*/*.sh")
	if err != nil || len(scripts) < 8 {
		t.Fatalf("scripts = %v, %v", scripts, err)
	}
	mustCommand(t, nil, "shellcheck", scripts...)
}

// TestUnitsAreHardened checks the units with systemd-analyze.
func TestUnitsAreHardened(t *testing.T) {
	t.Parallel()
	units, err := filepath.Glob("systemd/storeroom*")
	if err != nil || len(units) < 4 {
		t.Fatalf("units = %v, %v", units, err)
	}
	// verify requires existing programs, so the copies use another one.
	dir := t.TempDir()
	program := regexp.MustCompile(`(?m)^ExecStart=\S+`)
	var copies []string
	for _, unit := range units {
		copied := filepath.Join(dir, filepath.Base(unit))
		text := program.ReplaceAllString(read(t, unit), "ExecStart=/bin/true")
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, copied)
	}
	printed, err := command(nil, "systemd-analyze", append([]string{"verify", "--man=no"}, copies...)...)
	if err != nil || printed != "" {
		t.Errorf("systemd-analyze verify = %s, %v", printed, err)
	}
	for _, unit := range copies {
		if !strings.HasSuffix(unit, ".service") {
			continue
		}
		printed := mustCommand(t, nil, "systemd-analyze", "security", "--offline=true", "--no-pager", unit)
		found := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindStringSubmatch(printed)
		if found == nil {
			t.Fatalf("systemd-analyze security has no result for %s: %s", unit, printed)
		}
		if exposure, err := strconv.ParseFloat(found[1], 64); err != nil || exposure >= 2 {
			t.Errorf("the exposure of %s is %s, %v; want less than 2", filepath.Base(unit), found[1], err)
		}
	}
}

// TestImageBuilds runs the build of the Dockerfile on the files that .dockerignore allows.
func TestImageBuilds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for line := range strings.Lines(read(t, "../.dockerignore")) {
		name, sent := strings.CutPrefix(strings.TrimSpace(line), "!")
		if !sent {
			continue
		}
		if err := copySent(filepath.Join("..", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	flags := regexp.MustCompile(`go build (.*) -ldflags "-X main.version=\$VERSION" -o \S+ (\S+)`).
		FindStringSubmatch(read(t, "Dockerfile"))
	if flags == nil {
		t.Fatal("the Dockerfile has no go build")
	}
	program := filepath.Join(t.TempDir(), "storeroom")
	args := append([]string{"-C", dir, "build"}, strings.Fields(flags[1])...)
	mustCommand(
		t,
		[]string{"CGO_ENABLED=0"},
		"go",
		append(args, "-ldflags", "-X main.version=v1.2.3", "-o", program, flags[2])...)
	if printed := mustCommand(t, nil, program, "version"); !strings.Contains(printed, "v1.2.3") {
		t.Errorf("storeroom version = %q, want v1.2.3", printed)
	}
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if libraries, err := file.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("the program needs the libraries %v, %v; the image has none", libraries, err)
	}
}

// copySent copies a file, or a directory without the files that .dockerignore excludes.
func copySent(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(path, from)
		switch {
		case entry.IsDir() && entry.Name() == "testdata":
			return filepath.SkipDir
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		case strings.HasSuffix(path, "_test.go"):
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return errors.Join(os.MkdirAll(filepath.Dir(target), 0o700), os.WriteFile(target, content, 0o600))
	})
}

// TestGitleaksFindsKeys runs gitleaks on a file with one key among other text.
func TestGitleaksFindsKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := keys.Generate().Reveal()
	content := "STRIPE=sk_live_" + strings.Repeat(
		"aB3",
		20,
	) + "\nnot = \"sk_live_" + strings.Repeat(
		"z",
		38,
	) + "\"\ntoken: " + key + "\n"
	if err := os.WriteFile(filepath.Join(dir, "settings.yaml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report.json")
	mustCommand(
		t,
		nil,
		"go",
		"run",
		gitleaks,
		"dir",
		"--no-banner",
		"--exit-code=0",
		"--config=secret-scanning/gitleaks.toml",
		"--report-path="+report,
		dir,
	)
	var found []struct{ RuleID, Secret string }
	if err := json.Unmarshal([]byte(read(t, report)), &found); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].RuleID != "storeroom-api-key" || found[0].Secret != key {
		t.Errorf("gitleaks finds %d secrets, want only the key: %v", len(found), found)
	}
}
