package dueqprom_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v2"

	"github.com/dueq-dev/dueq"
	"github.com/dueq-dev/dueq/dueqhttp"
)

const (
	dockerfile = "../deploy/docker/Dockerfile"
	unit       = "../deploy/systemd/dueq.service"
)

// command is the program dueq, built once; TestMain removes it.
var command = sync.OnceValues(func() (string, error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("dueq-%d", os.Getpid()))
	cmd := exec.Command("go", "build", "-o", path, "./cmd/dueq")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as the images are built
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", &buildError{err, string(out)}
	}
	return path, nil
})

// removeCommand removes the program if a test has built it, and ends the process of the tests.
func removeCommand(code int) {
	_ = os.Remove(filepath.Join(os.TempDir(), fmt.Sprintf("dueq-%d", os.Getpid())))
	os.Exit(code)
}

// buildError is an error of the compiler, with its output.
type buildError struct {
	error
	output string
}

func (e *buildError) Error() string { return e.error.Error() + "\n" + e.output }

// accepts reports whether dueq takes a command line: it parses the flags up to --help.
func accepts(t *testing.T, args ...string) (help string, ok bool) {
	t.Helper()
	program, err := command()
	must(t, err)
	out, err := exec.CommandContext(t.Context(), program, append(slices.Clone(args), "--help")...).Output()
	return string(out), err == nil
}

// checkServe reports arguments and variables that dueq serve does not know.
func checkServe(t *testing.T, where string, args []string, env map[string]string) {
	t.Helper()
	if len(args) == 0 || args[0] != "serve" {
		t.Fatalf("%s: runs %q, want serve", where, args)
	}
	if _, ok := accepts(t, args...); !ok {
		t.Errorf("%s: dueq does not accept %q", where, args)
	}
	for name := range env {
		flag := "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "DUEQ_"), "_", "-"))
		if _, ok := accepts(t, "serve", flag+"="+env[name]); !ok || !strings.HasPrefix(name, "DUEQ_") {
			t.Errorf("%s: no flag belongs to the variable %s=%s", where, name, env[name])
		}
	}
}

// documents parses the documents of a file of YAML into values of one type, with all their members.
func documents[T any](t *testing.T, path string) []T {
	t.Helper()
	var all []T
	for d := yaml.NewDecoder(strings.NewReader(read(t, path))); ; {
		var one T
		err := d.Decode(&one)
		if err == io.EOF { //nolint:errorlint // the decoder returns it as it is
			return all
		}
		must(t, err)
		all = append(all, one)
	}
}

// instructions returns the instructions of the Dockerfile's last stage; lines of one instruction are
// joined.
func instructions(t *testing.T) map[string]string {
	t.Helper()
	last := map[string]string{}
	for line := range strings.Lines(strings.ReplaceAll(read(t, dockerfile), "\\\n", " ")) {
		word, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(word, "#") || !ok {
			continue
		}
		if word == "FROM" {
			last = map[string]string{}
		}
		last[word] += rest + "\n"
	}
	return last
}

func TestDockerfile_RunsServeFromScratchAndNotAsRoot(t *testing.T) {
	t.Parallel()
	last, text := instructions(t), read(t, dockerfile)
	for word, want := range map[string]string{
		"FROM": "scratch\n", "USER": "65532:65532\n", "ENTRYPOINT": "[\"/dueq\"]\n", "STOPSIGNAL": "SIGTERM\n", "CMD": "[\"serve\"]\n",
	} {
		if last[word] != want {
			t.Errorf("%s is %q, want %q", word, last[word], want)
		}
	}
	env := map[string]string{}
	for _, setting := range strings.Fields(last["ENV"]) {
		name, value, _ := strings.Cut(setting, "=")
		env[name] = value
	}
	checkServe(t, "Dockerfile", []string{"serve"}, env)
	if !strings.Contains(text, "CGO_ENABLED=0 go build") {
		t.Error("the program is not static, and scratch has no libraries")
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "../go.mod"))[1]
	if !strings.Contains(text, "FROM golang:"+version+" AS build\n") {
		t.Errorf("the image is not built with Go %s", version)
	}
	for line := range strings.Lines(read(t, dockerfile+".dockerignore")) {
		if slices.Contains([]string{"cmd", "dueqhttp", "store", "internal", ".git"}, strings.TrimSpace(line)) {
			t.Errorf("the build needs %s", line)
		}
	}
}

// container is what the manifests have in common.
type container struct {
	User        string
	Command     []string
	ReadOnly    bool     `yaml:"read_only"`
	CapDrop     []string `yaml:"cap_drop"`
	SecurityOpt []string `yaml:"security_opt"`
	Environment map[string]string
	Ports       []string

	Build struct{ Context, Dockerfile string }
}

func TestCompose_ServesOnARedisThatKeepsMessages(t *testing.T) {
	t.Parallel()
	const path = "../deploy/docker/docker-compose.yml"
	all := documents[struct{ Services map[string]container }](t, path)
	services := all[0].Services
	for name, c := range services {
		if !c.ReadOnly || c.User == "" || strings.HasPrefix(c.User, "0") || strings.HasPrefix(c.User, "root") ||
			!slices.Equal(c.CapDrop, []string{"ALL"}) || !slices.Equal(c.SecurityOpt, []string{"no-new-privileges:true"}) {
			t.Errorf("%s: read_only %v, user %q, cap_drop %q, security_opt %q", name, c.ReadOnly, c.User, c.CapDrop, c.SecurityOpt)
		}
	}
	server, redis := services["dueq"], strings.Join(services["redis"].Command, " ")
	checkServe(t, path, server.Command, server.Environment)
	if built := filepath.Join(filepath.Dir(path), server.Build.Context, server.Build.Dockerfile); built != dockerfile {
		t.Errorf("it builds %s, want %s", built, dockerfile)
	}
	if !slices.Equal(server.Ports, []string{"127.0.0.1:7373:7373"}) {
		t.Errorf("ports %q: without TLS, other machines must not reach it", server.Ports)
	}
	for _, want := range []string{"--appendonly yes", "--maxmemory-policy noeviction"} {
		if !strings.Contains(redis, want) {
			t.Errorf("redis runs %q, want %s", redis, want)
		}
	}
}

// probe is a request that says whether a container works.
type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
	Timeout int                         `yaml:"timeoutSeconds"`
}

// security are settings of a pod or a container.
type security struct {
	NonRoot   bool                    `yaml:"runAsNonRoot"`
	User      int                     `yaml:"runAsUser"`
	ReadOnly  bool                    `yaml:"readOnlyRootFilesystem"`
	Escalates *bool                   `yaml:"allowPrivilegeEscalation"`
	Drops     struct{ Drop []string } `yaml:"capabilities"`
	Seccomp   struct{ Type string }   `yaml:"seccompProfile"`
}

// object is an object of Kubernetes.
type object struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name   string
		Labels map[string]string
	}
	Spec struct {
		Selector struct {
			App    string            `yaml:"app.kubernetes.io/name"`
			Labels map[string]string `yaml:"matchLabels"`
		}
		Ports []struct {
			Name       string
			TargetPort string `yaml:"targetPort"`
			Port       int
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				ServiceLinks *bool    `yaml:"enableServiceLinks"`
				Security     security `yaml:"securityContext"`
				Grace        int      `yaml:"terminationGracePeriodSeconds"`
				Containers   []struct {
					Args  []string
					Env   []struct{ Name string }
					Ports []struct {
						Name string
						Port int `yaml:"containerPort"`
					}
					Ready    probe    `yaml:"readinessProbe"`
					Live     probe    `yaml:"livenessProbe"`
					Security security `yaml:"securityContext"`
				}
			}
		}
		Endpoints []struct{ Port, Path string }
		Triggers  []struct {
			Type     string
			Metadata struct{ Query, Threshold string }
		}
		Min int `yaml:"minReplicaCount"`
		Max int `yaml:"maxReplicaCount"`
	}
}

// objects returns the objects of a file for Kubernetes by their kind.
func objects(t *testing.T, name string) map[string]object {
	t.Helper()
	byKind := map[string]object{}
	for _, o := range documents[object](t, "../deploy/kubernetes/"+name) {
		if o.APIVersion == "" || o.Kind == "" || o.Metadata.Name == "" {
			t.Fatalf("%s: apiVersion %q, kind %q, name %q", name, o.APIVersion, o.Kind, o.Metadata.Name)
		}
		byKind[o.Kind] = o
	}
	return byKind
}

// answered returns the status of a request to a server without tokens.
func answered(t *testing.T, path string) int {
	t.Helper()
	handler, err := dueqhttp.Handler(newClient(t, dueq.Hooks{}), &dueqhttp.Options{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+path, nil))
	return w.Code
}

func TestKubernetes_DeploymentMatchesTheServer(t *testing.T) {
	t.Parallel()
	all := objects(t, "dueq.yaml")
	pod := all["Deployment"].Spec.Template.Spec
	c, labels := pod.Containers[0], all["Deployment"].Spec.Template.Metadata.Labels
	env := map[string]string{}
	for _, v := range c.Env {
		env[v.Name] = "x"
	}
	checkServe(t, "dueq.yaml", c.Args, env)
	for name, p := range map[string]probe{"/readyz": c.Ready, "/livez": c.Live} {
		// The server answers within 2 s whether the store does.
		if p.HTTPGet.Path != name || p.HTTPGet.Port != c.Ports[0].Name || p.Timeout < 3 {
			t.Errorf("probe of %s: path %q, port %q, timeout %d s", name, p.HTTPGet.Path, p.HTTPGet.Port, p.Timeout)
		}
		if got := answered(t, p.HTTPGet.Path); got != http.StatusNoContent {
			t.Errorf("%s: %d, want 204", p.HTTPGet.Path, got)
		}
	}
	if s := pod.Security; !s.NonRoot || s.User == 0 || s.Seccomp.Type != "RuntimeDefault" {
		t.Errorf("the pod has %+v", s)
	}
	if s := c.Security; !s.ReadOnly || s.Escalates == nil || *s.Escalates || !slices.Equal(s.Drops.Drop, []string{"ALL"}) {
		t.Errorf("the container has %+v", s)
	}
	if pod.ServiceLinks == nil || *pod.ServiceLinks || pod.Grace < 40 {
		t.Errorf("service links %v, grace %d s, want none and 40 s at least", pod.ServiceLinks, pod.Grace)
	}
	service := all["Service"].Spec
	if service.Selector.App != labels["app.kubernetes.io/name"] || service.Ports[0].TargetPort != c.Ports[0].Name || service.Ports[0].Port != c.Ports[0].Port {
		t.Errorf("the service selects %q, port %+v", service.Selector.App, service.Ports[0])
	}
	if all["PodDisruptionBudget"].Spec.Selector.Labels["app.kubernetes.io/name"] != labels["app.kubernetes.io/name"] {
		t.Error("the disruption budget selects other pods")
	}
}

func TestKubernetes_MetricsAreScrapedAndScaleConsumers(t *testing.T) {
	t.Parallel()
	service := objects(t, "dueq.yaml")["Service"]
	monitor := objects(t, "servicemonitor.yaml")["ServiceMonitor"].Spec
	if e := monitor.Endpoints[0]; e.Port != service.Spec.Ports[0].Name || answered(t, e.Path) != http.StatusOK {
		t.Errorf("it scrapes %+v", e)
	}
	if monitor.Selector.Labels["app.kubernetes.io/name"] != service.Metadata.Labels["app.kubernetes.io/name"] {
		t.Errorf("it selects %v", monitor.Selector.Labels)
	}
	scaled := objects(t, "keda.yaml")["ScaledObject"].Spec
	if scaled.Min < 1 || scaled.Max <= scaled.Min || len(scaled.Triggers) != 1 || scaled.Triggers[0].Type != "prometheus" {
		t.Fatalf("it scales from %d to %d by %+v", scaled.Min, scaled.Max, scaled.Triggers)
	}
	checkQuery(t, "keda.yaml", scaled.Triggers[0].Metadata.Query, exported(t))
}

// settingsOf returns the settings of a unit file; settings that are there several times are joined.
func settingsOf(t *testing.T, text string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '[' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Fatalf("%q is not a setting", line)
		}
		all[strings.TrimSpace(name)] += strings.TrimSpace(value) + "\n"
	}
	return all
}

func TestUnit_RunsServeWithoutPrivileges(t *testing.T) {
	t.Parallel()
	s := settingsOf(t, read(t, unit))
	for name, want := range map[string]string{
		"User": "dueq\n", "NoNewPrivileges": "yes\n", "ProtectSystem": "strict\n", "ProtectHome": "yes\n", "CapabilityBoundingSet": "\n",
		"StateDirectory": "dueq\n", "Environment": "DUEQ_STORE=file:/var/lib/dueq\n", "TimeoutStopSec": "45s\n",
	} {
		if s[name] != want {
			t.Errorf("%s is %q, want %q", name, s[name], want)
		}
	}
	args := strings.Fields(s["ExecStart"])
	checkServe(t, unit, args[1:], map[string]string{"DUEQ_STORE": "mem:"})
	for name, value := range settingsOf(t, read(t, "../deploy/systemd/serve.conf")) {
		if _, ok := accepts(t, "serve", "--"+name+"="+strings.TrimSpace(value)); !ok {
			t.Errorf("serve.conf: %s is not a flag", name)
		}
	}
}

// TestUnit_PassesSystemdAnalyze needs systemd-analyze, which Debian has.
func TestUnit_PassesSystemdAnalyze(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("SKIPPED: there is no systemd-analyze: the unit file is only held to rules")
	}
	program, err := command()
	must(t, err)
	copied := filepath.Join(t.TempDir(), "dueq.service")
	must(t, os.WriteFile(copied, bytes.Replace([]byte(read(t, unit)), []byte("/usr/local/bin/dueq"), []byte(program), 1), 0o600))
	// It warns of what it does not know, and of an exposure above 2.0 of 10.
	for _, args := range [][]string{{"verify", "--man=no"}, {"security", "--offline=yes", "--threshold=20"}} {
		out, err := exec.CommandContext(t.Context(), analyze, append(args, copied)...).CombinedOutput()
		if err != nil || strings.Contains(string(out), "ignoring") {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}

// TestDeploying_CommandsUseFilesThatExist holds the page to the files that it names.
func TestDeploying_CommandsUseFilesThatExist(t *testing.T) {
	t.Parallel()
	page := read(t, "../docs/guide/deploying.md")
	named := regexp.MustCompile(`\bdeploy/[a-zA-Z./-]*[a-zA-Z]`).FindAllString(page, -1)
	for _, path := range named {
		if strings.HasPrefix(path, "deploy/docker/config") { // the reader makes it
			continue
		}
		if _, err := os.Stat("../" + path); err != nil {
			t.Errorf("docs/guide/deploying.md: %v", err)
		}
	}
	for _, want := range []string{dockerfile, unit, "../deploy/systemd/serve.conf", "../deploy/docker/docker-compose.yml", "../deploy/kubernetes/dueq.yaml", "../deploy/kubernetes/servicemonitor.yaml", "../deploy/kubernetes/keda.yaml"} {
		if !slices.Contains(named, strings.TrimPrefix(want, "../")) {
			t.Errorf("docs/guide/deploying.md does not name %s", want)
		}
	}
}
