// Package deploy checks the files for operators: that they are complete, refer to existing
// names and follow the documented rules.
package deploy

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v2"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/migrations"
)

// pinned matches an image with a version: 18.4, v3.5.0, 1.26.8-bookworm.
var pinned = regexp.MustCompile(`^[a-z0-9./-]+:v?[0-9]+\.[0-9]+[0-9a-z.-]*$`)

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// load reads a YAML document into v and ignores fields that v does not have.
func load(t *testing.T, name string, v any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, name)), v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// variables returns the variables that the program's configuration declares.
func variables(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	tag := regexp.MustCompile("`env:\"([A-Z_]+)\"")
	for _, found := range tag.FindAllStringSubmatch(read(t, "../cmd/storeroom/config/config.go"), -1) {
		known[found[1]] = true
	}
	if len(known) < 12 {
		t.Fatalf("config.go declares %v, want all variables", known)
	}
	return known
}

func TestFilesUseKnownVariables(t *testing.T) {
	t.Parallel()
	known := variables(t)
	name := regexp.MustCompile(`\b(STOREROOM_[A-Z_]+|DATABASE_[A-Z]*_?URL|REDIS_URL)\b`)
	checked := 0
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || strings.HasSuffix(path, ".go") {
			return nil
		}
		for _, found := range name.FindAllString(read(t, path), -1) {
			checked++
			// A comment names STOREROOM_SERVICE_HOST, which Kubernetes adds. Citus is named for `make test-citus`.
			if !known[found] && found != "STOREROOM_SERVICE_HOST" && !strings.HasPrefix(found, "STOREROOM_CITUS") {
				t.Errorf("%s names %s, which is not a variable of the program", path, found)
			}
		}
		return nil
	})
	if err != nil || checked < 40 {
		t.Errorf("checked %d names, %v; want at least 40", checked, err)
	}
}

func TestHandbookNamesEveryVariable(t *testing.T) {
	t.Parallel()
	handbook := read(t, "README.md")
	for name := range variables(t) {
		if !strings.HasPrefix(name, "STOREROOM_DEMO_") && !strings.Contains(handbook, "| `"+name+"` |") {
			t.Errorf("README.md has no row for %s", name)
		}
	}
}

func TestHandbookLinksAreValid(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"README.md", "backup/README.md", "secret-scanning/README.md"} {
		links := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`).FindAllStringSubmatch(read(t, name), -1)
		for _, link := range links {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), link[1])); err != nil {
				t.Errorf("%s links to %s: %v", name, link[1], err)
			}
		}
	}
}

// Every promise of the security policy has a test, and every test that it names exists.
func TestSecurityPromisesHaveTests(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("\\[`(\\w+)`\\]\\(\\.\\./([^)]+_test\\.go)\\)")
	_, promises, found := strings.Cut(read(t, "../.github/SECURITY.md"), "## Promises")
	count := 0
	for line := range strings.Lines(promises) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Promise |") {
			continue
		}
		count++
		tests := named.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 || strings.Count(line, "](") != len(tests) {
			t.Errorf("%s names %d tests in %d links", line, len(tests), strings.Count(line, "]("))
		}
		for _, test := range tests {
			if !strings.Contains(read(t, filepath.Join("..", test[2])), "\nfunc "+test[1]+"(") {
				t.Errorf("%s is not in %s", test[1], test[2])
			}
		}
	}
	if !found || count < 25 {
		t.Errorf("found %d promises, want all", count)
	}
}

func TestTheImageIsMinimal(t *testing.T) {
	t.Parallel()
	dockerfile := read(t, "Dockerfile")
	stages, last := map[string]bool{"scratch": true}, map[string]string{}
	arguments := regexp.MustCompile(`(?m)^ARG (\w+)=(\S+)$`).FindAllStringSubmatch(dockerfile, -1)
	for line := range strings.Lines(dockerfile) {
		instruction, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if instruction != strings.ToUpper(instruction) || instruction == "" || instruction == "#" {
			continue
		}
		if instruction != "FROM" {
			last[instruction] = rest
			continue
		}
		words := slices.DeleteFunc(
			strings.Fields(rest),
			func(word string) bool { return strings.HasPrefix(word, "--") },
		)
		image := words[0]
		for _, argument := range arguments {
			image = strings.ReplaceAll(image, "${"+argument[1]+"}", argument[2])
		}
		if !stages[image] && !pinned.MatchString(image) {
			t.Errorf("FROM %s has no version", image)
		}
		if last["FROM"] = image; len(words) == 3 {
			stages[words[2]] = true
		}
	}
	for instruction, want := range map[string]string{
		"FROM": "scratch", "USER": "65532:65532", "EXPOSE": "8080", "STOPSIGNAL": "SIGTERM",
		"ENTRYPOINT": `["/usr/local/bin/storeroom"]`, "CMD": `["serve"]`,
	} {
		if last[instruction] != want {
			t.Errorf("the last %s is %q, want %q", instruction, last[instruction], want)
		}
	}
	for _, label := range []string{"title", "description", "source", "licenses", "version", "revision"} {
		if !strings.Contains(dockerfile, "org.opencontainers.image."+label+"=") {
			t.Errorf("the image has no label %s", label)
		}
	}
	wanted := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "../go.mod"))[1]
	if !strings.Contains(dockerfile, "GO_VERSION="+wanted+".") {
		t.Errorf("the image is not built with Go %s, which go.mod requires", wanted)
	}
}

// composeFile contains the checked fields of compose.yaml.
type composeFile struct {
	Services map[string]struct {
		Image       string
		Build       any
		Ports       []string
		Volumes     []string
		Environment map[string]string
		ReadOnly    bool     `yaml:"read_only"`
		CapDrop     []string `yaml:"cap_drop"`
		StopGrace   string   `yaml:"stop_grace_period"`
		Deploy      struct {
			Resources struct{ Limits map[string]string }
		}
	}
}

func TestTheComposeFileIsComplete(t *testing.T) {
	t.Parallel()
	var compose composeFile
	load(t, "compose.yaml", &compose)
	for _, name := range []string{
		"storeroom", "migrate", "postgres", "redis", "collector", "jaeger", "prometheus", "grafana",
	} {
		if _, exists := compose.Services[name]; !exists {
			t.Errorf("compose.yaml has no service %s", name)
		}
	}
	for name, service := range compose.Services {
		if service.Build == nil && !pinned.MatchString(service.Image) {
			t.Errorf("the image of %s has no version: %s", name, service.Image)
		}
		for _, port := range service.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s beyond this machine", name, port)
			}
		}
		if limits := service.Deploy.Resources.Limits; limits["cpus"] == "" || limits["memory"] == "" {
			t.Errorf("%s has no CPU and memory limits", name)
		}
		for _, volume := range service.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if _, err := os.Stat(source); strings.HasPrefix(source, "./") && err != nil {
				t.Errorf("%s mounts %s: %v", name, source, err)
			}
		}
		if service.Build != nil && (!service.ReadOnly || !slices.Equal(service.CapDrop, []string{"ALL"})) {
			t.Errorf("%s has a writable file system or capabilities", name)
		}
	}
	if _, there := compose.Services["storeroom"].Environment["DATABASE_ADMIN_URL"]; there {
		t.Error("the service has the migrator's URL")
	}
	checkStopTimeout(t, "compose.yaml", compose.Services["storeroom"].StopGrace, "5s", "25s")
}

func TestComposeRolesMatchTheProgram(t *testing.T) {
	t.Parallel()
	want := migrations.Script("storeroom", "demo-migrator", "demo-runtime")
	comments := regexp.MustCompile(`(?m)^--.*\n`)
	if got := comments.ReplaceAllString(read(t, "compose/roles.sql"), ""); got != want {
		t.Errorf("compose/roles.sql = %s\nwant what migrate --print-roles prints:\n%s", got, want)
	}
}

// checkStopTimeout checks that a timeout is longer than draining, finishing and flushing.
func checkStopTimeout(t *testing.T, where, timeout, drain, grace string) {
	t.Helper()
	var all [3]time.Duration
	for i, text := range []string{timeout, drain, grace} {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		all[i] = d
	}
	const flush = 10 * time.Second
	if need := all[1] + all[2] + flush; all[0] < need {
		t.Errorf("%s stops the service after %v, which is less than the %v it can need", where, all[0], need)
	}
}

// podSpec contains the checked fields of a Deployment and of a Job.
type podSpec struct {
	Kind string
	Spec struct {
		Template struct {
			Spec struct {
				EnableServiceLinks *bool `yaml:"enableServiceLinks"`
				Automount          *bool `yaml:"automountServiceAccountToken"`
				Grace              int   `yaml:"terminationGracePeriodSeconds"`
				SecurityContext    struct {
					RunAsNonRoot bool                  `yaml:"runAsNonRoot"`
					RunAsUser    int                   `yaml:"runAsUser"`
					Seccomp      struct{ Type string } `yaml:"seccompProfile"`
				} `yaml:"securityContext"`
				Containers []struct {
					Env []struct {
						Name, Value string
						ValueFrom   struct {
							Secret struct{ Name string } `yaml:"secretKeyRef"`
						} `yaml:"valueFrom"`
					}
					Resources       struct{ Requests, Limits map[string]string }
					SecurityContext struct {
						Escalation   *bool `yaml:"allowPrivilegeEscalation"`
						ReadOnly     bool  `yaml:"readOnlyRootFilesystem"`
						Capabilities struct{ Drop []string }
					} `yaml:"securityContext"`
					StartupProbe   probe `yaml:"startupProbe"`
					LivenessProbe  probe `yaml:"livenessProbe"`
					ReadinessProbe probe `yaml:"readinessProbe"`
				}
			}
		}
	}
}

type probe struct {
	Get struct{ Path, Port string } `yaml:"httpGet"`
}

func TestKubernetesPodsAreRestricted(t *testing.T) {
	t.Parallel()
	for file, secrets := range map[string]map[string]string{
		"kubernetes/base/migrate/job.yaml": {"DATABASE_ADMIN_URL": "storeroom-migrator"},
		"kubernetes/base/serve/deployment.yaml": {
			"DATABASE_URL": "storeroom-runtime", "DATABASE_DIRECT_URL": "storeroom-runtime",
			"DATABASE_REPLICA_URLS": "storeroom-runtime",
			"REDIS_URL":             "storeroom-runtime", "STOREROOM_KEY_PEPPERS": "storeroom-runtime",
			"AWS_ACCESS_KEY_ID": "storeroom-media", "AWS_SECRET_ACCESS_KEY": "storeroom-media",
		},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			var object podSpec
			load(t, file, &object)
			pod := object.Spec.Template.Spec
			if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
				t.Error(
					"enableServiceLinks is not false: Kubernetes would add STOREROOM_SERVICE_HOST, which the program refuses",
				)
			}
			if pod.Automount == nil || *pod.Automount {
				t.Error("the pod gets a service account token")
			}
			if s := pod.SecurityContext; !s.RunAsNonRoot || s.RunAsUser != 65532 || s.Seccomp.Type != "RuntimeDefault" {
				t.Errorf("the pod runs as %+v", s)
			}
			if len(pod.Containers) != 1 {
				t.Fatalf("%d containers, want one", len(pod.Containers))
			}
			container := pod.Containers[0]
			if s := container.SecurityContext; s.Escalation == nil || *s.Escalation || !s.ReadOnly ||
				!slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
				t.Errorf("the container's securityContext is %+v", s)
			}
			if r := container.Resources; r.Requests["cpu"] == "" || r.Requests["memory"] == "" ||
				r.Limits["memory"] == "" {
				t.Errorf("the container's resources are %+v", r)
			}
			got := map[string]string{}
			for _, variable := range container.Env {
				if secret := variable.ValueFrom.Secret.Name; secret != "" {
					got[variable.Name] = secret
				}
			}
			if !maps.Equal(got, secrets) {
				t.Errorf("variables of secrets = %v, want %v", got, secrets)
			}
			if object.Kind == "Job" {
				return
			}
			for _, test := range []struct {
				name, path string
				probe      probe
			}{
				{"startup", "/livez", container.StartupProbe},
				{"liveness", "/livez", container.LivenessProbe},
				{"readiness", "/readyz", container.ReadinessProbe},
			} {
				if get := test.probe.Get; get.Path != test.path || get.Port != "ops" {
					t.Errorf("the %s probe requests %+v, want %s", test.name, get, test.path)
				}
			}
			settings := read(t, "kubernetes/base/serve/kustomization.yaml")
			checkStopTimeout(
				t,
				file,
				strconv.Itoa(pod.Grace)+"s",
				literal(t, settings, "STOREROOM_DRAIN"),
				literal(t, settings, "STOREROOM_GRACE"),
			)
		})
	}
}

// literal returns the value of a variable in a configMapGenerator.
func literal(t *testing.T, settings, name string) string {
	t.Helper()
	found := regexp.MustCompile(`- ` + name + `=(\S+)`).FindStringSubmatch(settings)
	if found == nil {
		t.Fatalf("%s is not set", name)
	}
	return found[1]
}

// The defaults of ingress-nginx refuse bodies above 1 MiB, and send a request again after an error.
func TestTheIngressFollowsTheRulesForProxies(t *testing.T) {
	t.Parallel()
	var ingress struct {
		Metadata struct{ Annotations map[string]string }
	}
	load(t, "kubernetes/overlays/example/serve/ingress.yaml", &ingress)
	for name, want := range map[string]string{
		"proxy-body-size":     "201m", // pages.MaxUpload and the rest of the form
		"proxy-read-timeout":  "125",
		"proxy-next-upstream": "off",
		"enable-access-log":   "false",
	} {
		if got := ingress.Metadata.Annotations["nginx.ingress.kubernetes.io/"+name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestManifestsContainNoSecrets(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir("kubernetes", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		var object struct{ Kind string }
		load(t, path, &object)
		if content := read(t, path); object.Kind == "Secret" || strings.Contains(content, "secretGenerator") ||
			strings.Contains(content, "postgres://") {
			t.Errorf("%s contains a secret instead of its name", path)
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Errorf("%d files, %v; want all manifests", files, err)
	}
}

func TestUnitsRestrictTheService(t *testing.T) {
	t.Parallel()
	serve := read(t, "systemd/storeroom@.service")
	timeout := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindStringSubmatch(serve)
	if timeout == nil {
		t.Fatal("the unit has no TimeoutStopSec")
	}
	checkStopTimeout(t, "the unit", timeout[1]+"s", "5s", "25s")
	if regexp.MustCompile(`(?m)^Environment.*(ADMIN|PEPPER)`).MatchString(serve) {
		t.Error("the unit contains a secret")
	}
	units, err := filepath.Glob("systemd/*.service")
	if err != nil || len(units) != 5 {
		t.Fatalf("units = %v, %v", units, err)
	}
	for _, unit := range units {
		for _, line := range []string{
			"NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=",
			"SystemCallFilter=@system-service", "PrivateTmp=yes",
		} {
			if !slices.Contains(strings.Split(read(t, unit), "\n"), line) {
				t.Errorf("%s has no line %s", unit, line)
			}
		}
	}
}

func TestPrometheusAndGrafanaPathsExist(t *testing.T) {
	t.Parallel()
	type job struct {
		Name string `yaml:"job_name"`
	}
	var prometheus struct {
		Rules []string `yaml:"rule_files"`
		Jobs  []job    `yaml:"scrape_configs"`
	}
	load(t, "prometheus/prometheus.yml", &prometheus)
	for _, pattern := range prometheus.Rules {
		if found, err := filepath.Glob(filepath.Join("prometheus", pattern)); err != nil || len(found) == 0 {
			t.Errorf("rule_files %s matches %v, %v", pattern, found, err)
		}
	}
	if len(prometheus.Rules) == 0 || !slices.Contains(prometheus.Jobs, job{"storeroom"}) {
		t.Errorf("prometheus.yml has rules %v and jobs %v", prometheus.Rules, prometheus.Jobs)
	}
	var dashboards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	load(t, "grafana/provisioning/dashboards/storeroom.yaml", &dashboards)
	var compose composeFile
	load(t, "compose.yaml", &compose)
	for _, provider := range dashboards.Providers {
		if !slices.Contains(compose.Services["grafana"].Volumes, "./grafana/dashboards:"+provider.Options.Path+":ro") {
			t.Errorf("no volume of Grafana is mounted at %s", provider.Options.Path)
		}
	}
	if len(dashboards.Providers) == 0 {
		t.Error("Grafana has no dashboard provider")
	}
}

func TestCollectorRemovesSecrets(t *testing.T) {
	t.Parallel()
	var collector struct {
		Receivers, Processors, Exporters map[string]any
		Service                          struct {
			Pipelines map[string]struct{ Receivers, Processors, Exporters []string }
		}
	}
	load(t, "collector/collector.yaml", &collector)
	for _, signal := range []string{"traces", "metrics", "logs"} {
		pipeline := collector.Service.Pipelines[signal]
		if len(pipeline.Processors) == 0 || pipeline.Processors[0] != "memory_limiter" {
			t.Errorf("the processors of %s are %v, want memory_limiter first", signal, pipeline.Processors)
		}
		if signal != "metrics" && !slices.Contains(pipeline.Processors, "attributes/nothing-secret") {
			t.Errorf(
				"the processors of %s are %v, want attributes/nothing-secret among them",
				signal,
				pipeline.Processors,
			)
		}
		for _, part := range []struct {
			defined map[string]any
			used    []string
		}{
			{collector.Receivers, pipeline.Receivers},
			{collector.Processors, pipeline.Processors},
			{collector.Exporters, pipeline.Exporters},
		} {
			for _, name := range part.used {
				if _, defined := part.defined[name]; !defined {
					t.Errorf("%s uses %s, which is not defined", signal, name)
				}
			}
		}
	}
}

// secretPatterns returns the expressions of every scanner's file.
func secretPatterns(t *testing.T) map[string]*regexp.Regexp {
	t.Helper()
	all := map[string]*regexp.Regexp{}
	for file, where := range map[string]string{
		"secret-scanning/gitleaks.toml":   `(?m)^regex = '''(.+)'''$`,
		"secret-scanning/trufflehog.yaml": `(?m)^ +key: '(.+)'$`,
	} {
		found := regexp.MustCompile(where).FindStringSubmatch(read(t, file))
		if found == nil {
			t.Fatalf("%s has no expression", file)
		}
		all[file] = regexp.MustCompile(found[1])
	}
	part := func(name string) string {
		found := regexp.MustCompile(`(?m)^` + name + ` secret +(.+)$|^secret ` + name + ` +(.+)$`).
			FindStringSubmatch(read(t, "secret-scanning/README.md"))
		if found == nil {
			t.Fatalf("README.md has no line for %s", name)
		}
		return found[1] + found[2]
	}
	all["GitHub's three lines"] = regexp.MustCompile(
		"(?:" + part("before") + ")(" + part("format") + ")(?:" + part("after") + ")",
	)
	return all
}

func TestSecretScannersFindKeys(t *testing.T) {
	t.Parallel()
	for name, pattern := range secretPatterns(t) {
		t.Run(name+" finds every key in any context", func(t *testing.T) {
			t.Parallel()
			for range 1000 {
				key := keys.Generate().Reveal()
				for _, text := range []string{
					key, `"` + key + `"`, "Authorization: Bearer " + key + "\r\n", "key=" + key + "&a=b",
					"<" + key + ">", "https://a:" + key + "@b/",
				} {
					if found := pattern.FindStringSubmatch(text); len(found) != 2 || found[1] != key {
						t.Fatalf("%s finds %q in %q", pattern, found, text)
					}
				}
			}
		})
		t.Run(name+" finds no key in other text", func(t *testing.T) {
			t.Parallel()
			const random = "0123456789ABCDEFGHIJabcdefghij42"
			for what, text := range map[string]string{
				"a shorter text":            "sk_live_" + random + "0Ayhz",
				"a longer text":             "sk_live_" + random + "0Ayhzo0",
				"a test key":                "sk_test_" + random + "0Ayhzo",
				"a foreign character":       "sk_live_" + random[1:] + "-0Ayhzo",
				"a prefix of another word":  "risk_live_" + random + "0Ayhzo",
				"capitals":                  "SK_LIVE_" + random + "0Ayhzo",
				"a checksum beyond 32 bits": "sk_live_" + random + "5Ayhzo",
				"the form on the pages":     "sk_live_0123…yhzo",
				"another service's key":     "sk_live_51H" + random + random + random,
				"an underscore at the end":  "sk_live_" + random + "0Ayhzo_",
			} {
				if found := pattern.FindString(text); found != "" {
					t.Errorf("%s: %s finds %q in %q", what, pattern, found, text)
				}
			}
		})
	}
}
