package host

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
)

// Machine says where figures come from.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	System string `json:"system"`
}

// ReadMachine reads what Linux tells; elsewhere fields stay empty.
func ReadMachine() Machine {
	return Machine{
		CPU:    procField("/proc/cpuinfo", "model name"),
		Cores:  runtime.NumCPU(),
		Memory: procField("/proc/meminfo", "MemTotal"),
		System: strings.Trim(releaseName(), `"`) + " " + firstLine("uname", "-sr"),
	}
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

// Versions returns versions of the tools and of the Go modules linked in.
func Versions() map[string]string {
	v := map[string]string{"go": runtime.Version(), "node": firstLine("node", "--version")}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			v[m.Path] = m.Version
		}
	}
	if commit := firstLine("git", "rev-parse", "--short", "HEAD"); commit != "" {
		v["github.com/dueq-dev/dueq"] = commit + changed()
	}
	return v
}

// changed tells whether what is measured is what is committed.
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
