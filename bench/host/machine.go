package host

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// Machine describes the machine of a run.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	System string `json:"system"`
}

// ReadMachine reads what Linux reports; elsewhere fields stay empty.
func ReadMachine() Machine {
	return Machine{
		CPU:    procField("/proc/cpuinfo", "model name"),
		Cores:  runtime.NumCPU(),
		Memory: gibibytes(procField("/proc/meminfo", "MemTotal")),
		System: strings.Trim(releaseName(), `"`) + " " + firstLine("uname", "-sr"),
	}
}

// gibibytes converts "24684100 kB" to "23.5 GiB"; it returns other texts unchanged.
func gibibytes(text string) string {
	kib, err := strconv.ParseFloat(strings.TrimSuffix(text, " kB"), 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(kib/(1<<20), 'f', 1, 64) + " GiB"
}

func releaseName() string {
	return strings.TrimPrefix(lineOf("/etc/os-release", "PRETTY_NAME="), "PRETTY_NAME=")
}

// procField returns the value of the first line "name : value".
func procField(file, name string) string {
	_, value, _ := strings.Cut(lineOf(file, name), ":")
	return strings.TrimSpace(value)
}

func lineOf(file, prefix string) string {
	b, err := os.ReadFile(file) //nolint:gosec // names of system files
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, prefix) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// Versions returns the versions of the queues, their servers and this module, which is in dir.
func Versions(dir string) map[string]string {
	v := map[string]string{"Go": runtime.Version(), "Node.js": firstLine("node", "--version")}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if slices.Contains(modules(), m.Path) {
				v[m.Path] = m.Version
			}
		}
	}
	for _, name := range []string{"bullmq", "ioredis"} {
		v[name] = npmVersion(filepath.Join(dir, "bullmq", "node_modules", name, "package.json"))
	}
	if commit := firstLine("git", "rev-parse", "--short", "HEAD"); commit != "" {
		v["dueq"] = commit + changed()
	}
	return v
}

// modules are the modules that matter to the figures.
func modules() []string {
	return []string{"github.com/hibiken/asynq", "github.com/redis/go-redis/v9", "github.com/rabbitmq/amqp091-go"}
}

// npmVersion returns "" for a package that is not installed.
func npmVersion(file string) string {
	var p struct{ Version string }
	b, err := os.ReadFile(file) //nolint:gosec // a file of this module
	if err != nil || json.Unmarshal(b, &p) != nil {
		return ""
	}
	return p.Version
}

// changed reports whether the working tree has changes that are not committed.
func changed() string {
	if firstLine("git", "status", "--porcelain", "--untracked-files=no") != "" {
		return " with changes"
	}
	return ""
}

func firstLine(command ...string) string {
	out, err := exec.Command(command[0], command[1:]...).Output() //nolint:gosec,noctx // fixed commands that end at once
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}
