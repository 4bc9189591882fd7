package redisstore

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestScripts_UseOnlyDeclaredNames runs luacheck on the scripts as they are sent to Redis.
// No fragment uses a name of a script. Redis itself reports an undeclared name only when it is used.
func TestScripts_UseOnlyDeclaredNames(t *testing.T) {
	skipIfShort(t)
	program, err := exec.LookPath("luacheck")
	if err != nil {
		t.Skip("SKIPPED: there is no luacheck here; make deps installs it where apt-get is")
	}
	dir, files := t.TempDir(), []string{}
	write := func(name, text string) {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	for name, s := range library() {
		write(name+".lua", s.source)
		// Without the script, so that a fragment can use only names of other fragments.
		text := ""
		for line := range strings.Lines(readScript(name + ".lua")) {
			for _, fragment := range usedIn(line) {
				text += readScript("lib/" + fragment + ".lua")
			}
		}
		write(name+"-fragments.lua", text)
	}
	// A fragment defines more than each script that uses it needs (unused, redefined).
	args := []string{"--std", "lua51", "--read-globals", "redis", "KEYS", "ARGV", "--no-color", "--no-unused", "--no-redefined", "--no-max-line-length", "--quiet"}
	out, err := exec.CommandContext(t.Context(), program, append(append(args, "--"), files...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
