package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type versionResult struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (r versionResult) text() string {
	revision := ""
	if r.Revision != "" {
		revision = " (" + r.Revision + ")"
	}
	return fmt.Sprintf("dueq %s%s, %s, %s\n", r.Version, revision, r.Go, r.Platform)
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version",
		Args:  cobra.NoArgs,
		RunE: a.do(func(context.Context, []string) error {
			return a.print(version())
		}),
	}
}

// version reads what the Go toolchain wrote into the binary.
func version() versionResult {
	r := versionResult{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return r
	}
	if info.Main.Version != "" {
		r.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			r.Revision = setting.Value
		}
	}
	return r
}
