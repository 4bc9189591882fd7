package redisstore

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq/store"
)

// header is what the comment lines at the top of a script declare.
type header struct {
	sections map[string]string // PURPOSE, TRANSITION, RETURNS, CODES, COST, RETRY, EMITS, USES
	keys     []string          // "name type", KEYS[1] first
	args     []string          // "name | type | unit | range", ARGV[1] first
	rest     bool              // the last argument stands for all that follow
}

func headerSections() []string {
	return []string{"PURPOSE", "TRANSITION", "RETURNS", "CODES", "COST", "RETRY", "EMITS", "USES"}
}

var (
	keyLine   = regexp.MustCompile(`^-- KEYS\[(\d+)\] ([a-z]+ (?:hash|zset|set))$`)
	argLine   = regexp.MustCompile(`^-- ARGV\[(\d+)(\.\.\.)?\] ([^|]+ \| [^|]+ \| [^|]+ \| .+)$`)
	otherLine = regexp.MustCompile(`^-- ([A-Z]+) (.+)$`)

	headerLine = regexp.MustCompile(`^-- [A-Z]{4,}(\[[\d.]+\])? `)
)

func parseHeader(text string) (header, error) {
	h := header{sections: map[string]string{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "--") {
			break
		}
		if err := h.add(line); err != nil {
			return h, err
		}
	}
	return h, nil
}

func (h *header) add(line string) error {
	if m := keyLine.FindStringSubmatch(line); m != nil {
		h.keys = append(h.keys, m[2])
		return inOrder(line, m[1], len(h.keys))
	}
	if m := argLine.FindStringSubmatch(line); m != nil {
		h.args, h.rest = append(h.args, m[3]), m[2] != ""
		return inOrder(line, m[1], len(h.args))
	}
	m := otherLine.FindStringSubmatch(line)
	if m == nil || !slices.Contains(headerSections(), m[1]) || h.sections[m[1]] != "" {
		return fmt.Errorf("not a header line, or twice: %s", line)
	}
	h.sections[m[1]] = m[2]
	return nil
}

func inOrder(line, index string, want int) error {
	if index != strconv.Itoa(want) {
		return fmt.Errorf("want number %d: %s", want, line)
	}
	return nil
}

func TestScripts_HeadersAgreeWithBodies(t *testing.T) {
	t.Parallel()
	for name, s := range library() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := parseHeader(readScript(name + ".lua"))
			if err != nil {
				t.Fatal(err)
			}
			for _, section := range headerSections() {
				if h.sections[section] == "" {
					t.Errorf("no %s", section)
				}
			}
			checkKeys(t, h, s.source)
			checkArgs(t, h, s.source)
			text := readScript(name + ".lua")
			checkCodes(t, h, withoutComments(text)+usedFragments(text, "lost", "failed", "prolong", "accept"))
		})
	}
}

// A script that has several values for each item takes the number of items from an argument: it is
// not derived from how many arguments there are.
func TestScripts_CountsAreArguments(t *testing.T) {
	t.Parallel()
	counts := map[string]int{
		"nack": 1, "release": 1, "snooze": 1, "again": 1, "part": 1, "reject": 1, "extend": 1, "start": 1,
		"redrive": 6, "reschedule": 6,
		"push": 4, "next": 4, "restore": 1, "beat": 6, "duties": 1,
	}
	for name, s := range library() {
		h, err := parseHeader(readScript(name + ".lua"))
		if err != nil {
			t.Fatal(err)
		}
		at := 1 + slices.IndexFunc(h.args, func(arg string) bool { return strings.HasPrefix(arg, "n | int | ") })
		if at != counts[name] {
			t.Errorf("%s has its count at ARGV[%d], want %d", name, at, counts[name])
		}
		list := name == "ack" || name == "leave" // one value for each item, and nothing behind them
		if !list && regexp.MustCompile(`#ARGV\b[^\[]`).MatchString(s.source) {
			t.Errorf("%s uses the number of its arguments", name)
		}
	}
}

// usedFragments returns those of the fragments that a script uses.
func usedFragments(script string, names ...string) (text string) {
	for line := range strings.Lines(script) {
		for _, used := range usedIn(line) {
			if slices.Contains(names, used) {
				text += readScript("lib/" + used + ".lua")
			}
		}
	}
	return text
}

// forecastPurpose is that of the only script that needs a key and none of those before it.
const forecastPurpose = "counts the messages that become due in each of the next spans of time"

const restorePurpose = "stores messages that another store has listed, while the queue is paused"

func checkKeys(t *testing.T, h header, source string) {
	t.Helper()
	used := indexes(source, `KEYS\[(\d+)\]`)
	if used[len(used)-1] != len(h.keys) {
		t.Errorf("uses KEYS %v, declares %q", used, h.keys)
	}
	// Keys are numbered in one order, so a script declares all keys before the last that it uses, also
	// those that it does not use.
	for i := range h.keys {
		// forecast needs due alone.
		forecast := h.sections["PURPOSE"] == forecastPurpose && i < len(h.keys)-1
		// restore needs all but the leases and the calls.
		restore := h.sections["PURPOSE"] == restorePurpose && h.keys[i] == "leased zset"
		if name := h.keys[i]; !slices.Contains(used, i+1) && name != "calls hash" && name != "dead zset" && !forecast && !restore {
			t.Errorf("declares KEYS[%d] %s and does not use it", i+1, name)
		}
	}
	count := func(pattern string) int { return len(regexp.MustCompile(pattern).FindAllString(source, -1)) }
	if count(`\bKEYS\b`) != count(`\bKEYS\[\d+\]`) {
		t.Error("KEYS is used in another way than KEYS[number]")
	}
	want := []string{"side hash", "msg hash", "leased zset", "due zset", "dead zset", "calls hash", "done zset", "past hash"}
	if h.keys[0] == "side hash" && !slices.Equal(h.keys, want[:len(h.keys)]) {
		t.Errorf("keys %q, want them in the order %q", h.keys, want)
	}
}

func checkArgs(t *testing.T, h header, source string) {
	t.Helper()
	fixed := len(h.args)
	if h.rest {
		fixed--
	}
	used := indexes(source, `ARGV\[(\d+)\]`)
	for i := 1; i <= fixed; i++ {
		if !slices.Contains(used, i) {
			t.Errorf("ARGV[%d] is declared, not used", i)
		}
	}
	if len(used) > 0 && used[len(used)-1] > fixed {
		t.Errorf("uses ARGV %v, declares %d", used, fixed)
	}
	computed := regexp.MustCompile(`ARGV\[[^\]]*[^\]\d][^\]]*\]|unpack\(ARGV|#ARGV`).MatchString(source)
	if computed != h.rest {
		t.Errorf("computed arguments: used %t, declared %t", computed, h.rest)
	}
}

func indexes(source, pattern string) []int {
	var out []int
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(source, -1) {
		n, _ := strconv.Atoi(m[1])
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// checkCodes: the codes that a script names are those it declares, but for ok.
func checkCodes(t *testing.T, h header, body string) {
	t.Helper()
	var used []string
	for c := store.CodeOK + 1; c <= store.CodeMoved; c++ {
		if regexp.MustCompile(`\bCODE_` + strings.ToUpper(c.String()) + `\b`).MatchString(body) {
			used = append(used, c.String())
		}
	}
	var declared []string
	for _, word := range strings.Fields(h.sections["CODES"]) {
		if word != "-" && word != "ok" {
			declared = append(declared, word)
		}
	}
	slices.Sort(used)
	slices.Sort(declared)
	if !slices.Equal(used, declared) {
		t.Errorf("uses codes %q, declares %q", used, declared)
	}
}

func TestScripts_CodesAreThoseOfTheStore(t *testing.T) {
	t.Parallel()
	var names, numbers []string
	for _, m := range regexp.MustCompile(`local ([A-Z_, ]+) = ([\d, ]+)`).FindAllStringSubmatch(readScript("lib/code.lua"), -1) {
		names = append(names, strings.Split(m[1], ", ")...)
		numbers = append(numbers, strings.Split(m[2], ", ")...)
	}
	for i, name := range names {
		if c := store.Code(i); "CODE_"+strings.ToUpper(c.String()) != name || numbers[i] != strconv.Itoa(i) {
			t.Errorf("code.lua has %s = %s, store.Code %d is %s", name, numbers[i], i, c)
		}
	}
	if len(names) != int(store.CodeMoved)+1 || len(numbers) != len(names) {
		t.Errorf("code.lua has %d names and %d numbers, want %d", len(names), len(numbers), store.CodeMoved+1)
	}
}

func TestScripts_FollowTheRules(t *testing.T) {
	t.Parallel()
	forbidden := regexp.MustCompile(`\b(cmsgpack|cjson|struct|bit|loadstring|math\.random|os\.|KEYS\s*\[\s*[^\d])`)
	calls := regexp.MustCompile(`redis\.p?call\(([^,)]*)`)
	command := regexp.MustCompile(`^'[A-Z]+'$`)
	for name, s := range library() {
		if m := forbidden.FindString(s.source); m != "" {
			t.Errorf("%s uses %s", name, m)
		}
		for _, m := range calls.FindAllStringSubmatch(s.source, -1) {
			if !command.MatchString(m[1]) {
				t.Errorf("%s calls %s, which is no literal command", name, m[1])
			}
		}
		if n := strings.Count(s.source, "'TIME'"); n > 1 {
			t.Errorf("%s reads TIME %d times", name, n)
		}
	}
	if !strings.Contains(readScript("lib/fetch.lua"), fmt.Sprintf("fetch_budget = %d\n", store.MaxBatchBytes)) {
		t.Error("the budget of fetch.lua is not store.MaxBatchBytes")
	}
}

func TestDoc_ACLAllowsEveryCommandOfTheScripts(t *testing.T) {
	t.Parallel()
	_, line, _ := strings.Cut(renderDoc(t), "ACL SETUSER dueq ")
	line, _, _ = strings.Cut(line, "\n")
	allowed := strings.Fields(line)
	for name, s := range library() {
		for _, m := range regexp.MustCompile(`redis\.call\('([A-Z]+)'`).FindAllStringSubmatch(s.source, -1) {
			if !slices.Contains(allowed, "+"+strings.ToLower(m[1])) {
				t.Errorf("%s calls %s, which the documented user may not", name, m[1])
			}
		}
	}
}

func TestScripts_BodiesAreShort(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"scripts", "scripts/lib"} {
		entries, err := scriptFiles.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			text, err := scriptFiles.ReadFile(dir + "/" + e.Name())
			if e.IsDir() {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(withoutComments(string(text)), "\n"); n > 80 {
				t.Errorf("%s has %d lines, the limit is 80", e.Name(), n)
			}
			for line := range strings.Lines(string(text)) {
				if len(line) > 121 && !headerLine.MatchString(line) {
					t.Errorf("%s has a line of %d characters, the limit is 120: %s", e.Name(), len(line)-1, line)
				}
			}
		}
	}
}

func TestScripts_EveryFragmentIsUsed(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for name := range library() {
		for line := range strings.Lines(readScript(name + ".lua")) {
			for _, fragment := range usedIn(line) {
				used[fragment+".lua"] = true
			}
		}
	}
	entries, err := scriptFiles.ReadDir("scripts/lib")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !used[e.Name()] {
			t.Errorf("lib/%s is used by no script", e.Name())
		}
	}
}
