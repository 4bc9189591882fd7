package redisstore

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// localLine is a statement at the top level of a fragment, which can go on in the next lines.
	localLine = regexp.MustCompile(`(?m)^local (?:function )?(\w+(?:,\s*\w+)*)`)
	anyLocal  = regexp.MustCompile(`\blocal (?:function )?(\w+(?:,\s*\w+)*)`)
	word      = regexp.MustCompile(`\b([A-Za-z]+)_\w+`)
	quoted    = regexp.MustCompile(`'[^'\n]*'`)
)

// fragments returns the fragments by name, without comments.
func fragments(t *testing.T) map[string]string {
	t.Helper()
	entries, err := scriptFiles.ReadDir("scripts/lib")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".lua")
		texts[name] = withoutComments(readScript("lib/" + e.Name()))
	}
	return texts
}

// declared returns the names that statements declare.
func declared(text string, statement *regexp.Regexp) (names []string) {
	for _, m := range statement.FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// named returns the fragments whose names are used in text.
func named(text string, all map[string]string) map[string]bool {
	found := map[string]bool{}
	for _, m := range word.FindAllStringSubmatch(quoted.ReplaceAllString(text, ""), -1) {
		if name := strings.ToLower(m[1]); all[name] != "" {
			found[name] = true
		}
	}
	return found
}

// TestFragments_DefineOnlyNamesWithTheirOwn checks that a name shows its file: all that lib/leases.lua
// defines begins with leases_ or LEASES_, and no script defines such a name.
func TestFragments_DefineOnlyNamesWithTheirOwn(t *testing.T) {
	t.Parallel()
	all := fragments(t)
	for fragment, text := range all {
		names := declared(text, localLine)
		if len(names) == 0 {
			t.Errorf("lib/%s.lua defines nothing", fragment)
		}
		for _, name := range names {
			if !strings.HasPrefix(name, fragment+"_") && !strings.HasPrefix(name, strings.ToUpper(fragment)+"_") {
				t.Errorf("lib/%s.lua defines %s, want a name that begins with %s_", fragment, name, fragment)
			}
		}
	}
	for script := range library() {
		for _, name := range declared(withoutComments(readScript(script+".lua")), anyLocal) {
			if found := named(name, all); len(found) > 0 {
				t.Errorf("%s.lua defines %s, which looks like a name of a fragment", script, name)
			}
		}
	}
}

// TestScripts_UseWhatTheyName checks that USES has exactly the fragments that a script needs,
// including those that its fragments need, and that a script which uses partition checks the layout.
func TestScripts_UseWhatTheyName(t *testing.T) {
	t.Parallel()
	all := fragments(t)
	for script := range library() {
		text := readScript(script + ".lua")
		var uses []string
		for line := range strings.Lines(text) {
			uses = append(uses, usedIn(line)...)
		}
		needed := map[string]bool{}
		var need func(text string)
		need = func(text string) {
			for name := range named(text, all) {
				if !needed[name] {
					needed[name] = true
					need(all[name])
				}
			}
		}
		need(withoutComments(text))
		if slices.Contains(uses, "partition") {
			needed["partition"] = true
		}
		slices.Sort(uses)
		if want := slices.Sorted(maps.Keys(needed)); !slices.Equal(uses, want) {
			t.Errorf("%s.lua USES %q\nand needs %q", script, uses, want)
		}
	}
}
