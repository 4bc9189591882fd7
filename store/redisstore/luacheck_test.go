package redisstore

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestScripts_UseOnlyDeclaredNames runs luacheck on the scripts as they are sent to Redis.
// Redis itself notices a name that is not declared only when it is used.
func TestScripts_UseOnlyDeclaredNames(t *testing.T) {
	program, err := exec.LookPath("luacheck")
	if err != nil {
		t.Skip("SKIPPED: there is no luacheck here; make deps installs it where apt-get is")
	}
	dir, files := t.TempDir(), []string{}
	for name, s := range library() {
		file := filepath.Join(dir, name+".lua")
		if err := os.WriteFile(file, []byte(s.source), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	// A fragment defines more than each script that uses it needs (unused, redefined).
	args := []string{"--std", "lua51", "--read-globals", "redis", "KEYS", "ARGV", "--no-color", "--no-unused", "--no-redefined", "--no-max-line-length", "--quiet"}
	out, err := exec.CommandContext(t.Context(), program, append(append(args, "--"), files...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
