package redisstore

import (
	"crypto/sha1" //nolint:gosec // how Redis names scripts
	"embed"
	"encoding/hex"
	"path"
	"strings"
	"sync"
)

//go:generate go test -run TestDoc_IsCurrent -update .

//go:embed scripts
var scriptFiles embed.FS

// script is one operation, ready to be run.
type script struct {
	name   string
	sha    string
	source string
}

// library returns every script by name. It is put together once, at first use.
var library = sync.OnceValue(func() map[string]*script { return newLibrary(asWritten) })

// shardedLibrary is the library for a Cluster, where events are published within the slot.
var shardedLibrary = sync.OnceValue(func() map[string]*script {
	return newLibrary(strings.NewReplacer("'PUBLISH'", "'SPUBLISH'"))
})

var asWritten = strings.NewReplacer()

func newLibrary(changes *strings.Replacer) map[string]*script {
	entries, err := scriptFiles.ReadDir("scripts")
	if err != nil {
		panic(err) // embedded, so it is there
	}
	scripts := map[string]*script{}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".lua"); ok {
			scripts[name] = newScript(name, changes)
		}
	}
	return scripts
}

// newScript applies changes to a script, and puts the fragments that a script USES in place of the lines that say so: at
// its top, and where only the rest needs them, so that a call that ends before does not
// pay for making their functions.
func newScript(name string, changes *strings.Replacer) *script {
	var source strings.Builder
	for line := range strings.Lines(readScript(name + ".lua")) {
		for _, fragment := range usedIn(line) {
			source.WriteString(withoutComments(readScript("lib/" + fragment + ".lua")))
		}
		source.WriteString(withoutComments(line))
	}
	text := changes.Replace(source.String())
	sum := sha1.Sum([]byte(text)) //nolint:gosec // not for security
	return &script{name: name, sha: hex.EncodeToString(sum[:]), source: text}
}

func readScript(name string) string {
	text, err := scriptFiles.ReadFile(path.Join("scripts", name))
	if err != nil {
		panic(err) // a script USES a fragment that is not embedded: every test fails
	}
	return string(text)
}

// usedIn returns what a line "-- USES a b" names, and nothing for "-- USES -".
func usedIn(line string) []string {
	names, _ := strings.CutPrefix(line, "-- USES ")
	if names == line || names == "-\n" {
		return nil
	}
	return strings.Fields(names)
}

// withoutComments drops whole-line comments: they would only make EVAL longer.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			b.WriteString(line)
		}
	}
	return b.String()
}
