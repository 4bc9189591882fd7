package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configure sets those flags of cmd that the command line did not set: from the environment, or
// else from a file of lines NAME = VALUE.
func (a *app) configure(cmd *cobra.Command, file string) error {
	if file == "" {
		file = a.env(variableOf("config"))
	}
	values, err := readConfig(cmd.Flags(), file)
	if err != nil {
		return err
	}
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || failed != nil || f.Name == "config" || f.Name == "help" {
			return
		}
		value, from := a.env(variableOf(f.Name)), variableOf(f.Name)
		if value == "" {
			value, from = values[f.Name], file+": "+f.Name
		}
		if value == "" {
			return
		}
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			failed = usage("%s: %w", from, err)
		}
	})
	return failed
}

// variableOf returns the environment variable of a flag.
func variableOf(flag string) string {
	return "DUEQ_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// readConfig reads a file of values for flags; "" is no file. Errors do not have the value, which
// may be a secret.
func readConfig(flags *pflag.FlagSet, path string) (map[string]string, error) {
	values := map[string]string{}
	if path == "" {
		return values, nil
	}
	f, err := os.Open(path) //nolint:gosec // the user says which file to read
	if err != nil {
		return nil, usage("--config: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || value == "" {
			return nil, usage("--config: %s: line %d: want NAME = VALUE", path, n)
		}
		if flags.Lookup(name) == nil || name == "config" || name == "help" {
			return nil, usage("--config: %s: line %d: %.40q is not a flag of this command", path, n, name)
		}
		if values[name] != "" {
			return nil, usage("--config: %s: line %d: %s is given twice", path, n, name)
		}
		values[name] = value
	}
	if err := lines.Err(); err != nil {
		return nil, usage("--config: %w", fmt.Errorf("read %s: %w", path, err))
	}
	return values, nil
}
