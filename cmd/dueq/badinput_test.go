package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRun_BadInputIsRefused checks that each wrong command line ends with the right exit code and
// one line that names what is wrong, its value and the limit.
func TestRun_BadInputIsRefused(t *testing.T) {
	t.Parallel()
	send := []string{"send", "--queue", "q"}
	for name, test := range map[string]struct {
		args  []string
		code  int
		texts []string
	}{
		"unknown command":          {[]string{"sned"}, 2, []string{`"sned"`, "did you mean send?", "--help"}},
		"unknown part of queue":    {[]string{"queue", "creat", "q"}, 2, []string{`"creat"`, "did you mean create?", "dueq queue --help"}},
		"unknown flag":             {[]string{"send", "--quue", "q"}, 2, []string{"--quue", "did you mean --queue?"}},
		"unknown short flag":       {[]string{"send", "-x"}, 2, []string{"'x'"}},
		"missing queue":            {[]string{"send", "body"}, 2, []string{`"queue"`}},
		"missing body":             {send, 2, []string{"no body", "--file"}},
		"missing id":               {[]string{"show", "--queue", "q"}, 2, []string{"1 arg"}},
		"too many arguments":       {[]string{"send", "--queue", "q", "a", "b"}, 2, []string{"1 arg"}},
		"argument for none":        {[]string{"stats", "q"}, 2, []string{`"q"`}},
		"output format":            {[]string{"stats", "-o", "xml"}, 2, []string{"xml", "text, json"}},
		"queue empty":              {[]string{"send", "--queue", "", "b"}, 2, []string{"queue", "empty"}},
		"queue braces":             {[]string{"send", "--queue", "a{b}", "b"}, 2, []string{"queue", "a{b}"}},
		"queue reserved":           {[]string{"send", "--queue", "_a", "b"}, 2, []string{"queue", "_a"}},
		"queue newline":            {[]string{"stats", "--queue", "a\nb"}, 2, []string{"queue", `a\nb`}},
		"queue escape":             {[]string{"pause", "--queue", "\x1b[31m"}, 2, []string{"queue", `x1b`}},
		"queue too long":           {[]string{"send", "--queue", strings.Repeat("q", 129), "b"}, 2, []string{"queue", "129", "128"}},
		"delay 1h1":                {append(send, "--delay", "1h1", "b"), 2, []string{"--delay", `"1h1"`, "1h30m"}},
		"delay tomorrow":           {append(send, "--delay", "tomorrow", "b"), 2, []string{"--delay", `"tomorrow"`}},
		"delay NaN":                {append(send, "--delay", "NaN", "b"), 2, []string{"--delay", `"NaN"`}},
		"delay overflow":           {append(send, "--delay", "9e999s", "b"), 2, []string{"--delay", `"9e999s"`}},
		"delay negative":           {append(send, "--delay=-3s", "b"), 2, []string{"--delay", `"-3s"`, "negative"}},
		"delay too long":           {append(send, "--delay", "3661d", "b"), 2, []string{"delay", "3661d", "limit", "3660d", "10 years"}},
		"delay with a newline":     {append(send, "--delay", "1\n2", "b"), 2, []string{"--delay", `1\n2`}},
		"at tomorrow":              {append(send, "--at", "tomorrow", "b"), 2, []string{"--at", `"tomorrow"`, "RFC 3339"}},
		"at year 0":                {append(send, "--at", "0000-01-01T00:00:00Z", "b"), 2, []string{"--at", "0000-01-01", "1970"}},
		"at year 10000":            {append(send, "--at", "10000-01-01T00:00:00Z", "b"), 2, []string{"--at", "10000-01-01", "9999"}},
		"at too far":               {append(send, "--at", "9999-01-01T00:00:00Z", "b"), 2, []string{"due", "10 years"}},
		"delay and at":             {append(send, "--delay", "1s", "--at", "2030-01-01T00:00:00Z", "b"), 2, []string{"--at", "--delay"}},
		"attempts 0":               {append(send, "--max-attempts", "0", "b"), 2, []string{"--max-attempts", "0", "1000"}},
		"attempts 1001":            {append(send, "--max-attempts", "1001", "b"), 2, []string{"max attempts", "1001", "1000"}},
		"attempts 1e9":             {append(send, "--max-attempts", "1e9", "b"), 2, []string{"--max-attempts", "1e9"}},
		"attempts 2^63":            {append(send, "--max-attempts", "9223372036854775808", "b"), 2, []string{"--max-attempts", "9223372036854775808"}},
		"ttl before delay":         {append(send, "--delay", "2m", "--ttl", "1m", "b"), 2, []string{"ttl", "1m", "2m"}},
		"key too long":             {append(send, "--key", strings.Repeat("k", 256), "b"), 2, []string{"key", "256", "255"}},
		"key with a newline":       {append(send, "--key", "a\nb", "b"), 2, []string{"key", `a\nb`}},
		"replace without key":      {append(send, "--replace", "b"), 2, []string{"replace", "key"}},
		"header without value":     {append(send, "--header", "name", "b"), 2, []string{"--header", `"name"`, "name=value"}},
		"header twice":             {append(send, "--header", "a=1", "--header", "a=2", "b"), 2, []string{"--header", `a=2`, "twice"}},
		"header name":              {append(send, "--header", "a b=1", "b"), 2, []string{"headers", "a b"}},
		"header value":             {append(send, "--header", "a=1\r\nb: 2", "b"), 2, []string{"headers", `"a"`}},
		"headers too large":        {append(send, "--header", "a="+strings.Repeat("v", 8<<10), "b"), 2, []string{"headers", "8193", "8192"}},
		"body too large":           {append(send, strings.Repeat("b", 256<<10+1)), 2, []string{"body", "262145", "262144"}},
		"body and file":            {append(send, "--file", "x", "b"), 2, []string{"--file"}},
		"file missing":             {append(send, "--file", "/nowhere/at/all"), 2, []string{"/nowhere/at/all"}},
		"file is a directory":      {append(send, "--file", "/"), 2, []string{"/", "directory"}},
		"receive max 0":            {[]string{"receive", "--queue", "q", "--max", "0"}, 2, []string{"--max", "0", "500"}},
		"receive max 501":          {[]string{"receive", "--queue", "q", "--max", "501"}, 2, []string{"max", "501", "500"}},
		"receive max -1":           {[]string{"receive", "--queue", "q", "--max", "-1"}, 2, []string{"--max", "-1", "500"}},
		"receive wait negative":    {[]string{"receive", "--queue", "q", "--wait=-1s"}, 2, []string{"--wait", `"-1s"`, "negative"}},
		"receive wait too long":    {[]string{"receive", "--queue", "q", "--wait", "2m"}, 2, []string{"wait", "2m"}},
		"receive lease too short":  {[]string{"receive", "--queue", "q", "--lease", "10ms"}, 2, []string{"--lease", "10ms", "1s"}},
		"receive lease too long":   {[]string{"receive", "--queue", "q", "--lease", "13h"}, 2, []string{"lease", "13h", "12h"}},
		"follow and release":       {[]string{"receive", "--queue", "q", "--follow", "--release"}, 2, []string{"--follow", "--release"}},
		"receive unknown queue":    {[]string{"receive", "--queue", "q"}, 3, []string{`"q"`, "not found"}},
		"queue create partitions":  {[]string{"queue", "create", "--queue", "q", "--partitions", "0"}, 2, []string{"--partitions", "0", "1024"}},
		"queue create lease":       {[]string{"queue", "create", "--queue", "q", "--lease", "13h"}, 2, []string{"lease", "13h", "1s to 12h"}},
		"queue settings unknown":   {[]string{"queue", "settings", "--queue", "q"}, 3, []string{`"q"`, "not found"}},
		"queue update unknown":     {[]string{"queue", "update", "--queue", "q", "--max-body", "5"}, 3, []string{`"q"`, "not found"}},
		"queue update nothing":     {[]string{"queue", "update", "--queue", "q"}, 2, []string{"no setting"}},
		"list order":               {[]string{"list", "--queue", "q", "--order", "newest"}, 2, []string{"order", "newest", "asc, desc"}},
		"list state":               {[]string{"list", "--queue", "q", "--state", "asleep"}, 2, []string{"state", "asleep", "scheduled"}},
		"list limit 0":             {[]string{"list", "--queue", "q", "--limit", "0"}, 2, []string{"--limit", "0", "1000"}},
		"list limit 1001":          {[]string{"list", "--queue", "q", "--limit", "1001"}, 2, []string{"limit", "1001", "1000"}},
		"list cursor":              {[]string{"list", "--queue", "q", "--state", "dead", "--cursor", "x"}, 2, []string{"cursor", `"x"`}},
		"list cursor no state":     {[]string{"list", "--queue", "q", "--cursor", "x"}, 2, []string{"--cursor", "--state"}},
		"list unknown queue":       {[]string{"list", "--queue", "q"}, 3, []string{`"q"`, "not found"}},
		"dead unknown queue":       {[]string{"dead", "--queue", "q"}, 3, []string{`"q"`, "not found"}},
		"show bad id":              {[]string{"show", "--queue", "q", "42"}, 2, []string{"id", `"42"`, "26"}},
		"show empty key":           {[]string{"show", "--queue", "q", "key:"}, 2, []string{"key", "empty"}},
		"show unknown":             {[]string{"show", "--queue", "q", "06gztgq2wxzd38tzyh73ma8000"}, 3, []string{"06gztgq2wxzd38tzyh73ma8000", "not found"}},
		"show unknown key":         {[]string{"show", "--queue", "q", "key:order-42"}, 3, []string{"order-42", "not found"}},
		"cancel unknown":           {[]string{"cancel", "--queue", "q", "06gztgq2wxzd38tzyh73ma8000"}, 3, []string{"06gztgq2wxzd38tzyh73ma8000", "not found"}},
		"cancel bad id":            {[]string{"cancel", "--queue", "q", "\x1b]52;c;\x07"}, 2, []string{"id", `x1b`}},
		"reschedule unknown":       {[]string{"reschedule", "--queue", "q", "06gztgq2wxzd38tzyh73ma8000", "--delay", "1s"}, 3, []string{"not found"}},
		"reschedule to nothing":    {[]string{"reschedule", "--queue", "q", "06gztgq2wxzd38tzyh73ma8000"}, 2, []string{"--delay", "--at"}},
		"reschedule to both":       {[]string{"reschedule", "--queue", "q", "x", "--delay", "1s", "--at", "2030-01-01T00:00:00Z"}, 2, []string{"--delay", "--at"}},
		"redrive nothing":          {[]string{"redrive", "--queue", "q"}, 2, []string{"--all", "ids"}},
		"redrive nothing filtered": {[]string{"redrive", "--queue", "q", "--dry-run"}, 2, []string{"--all", "--key"}},
		"redrive all and some":     {[]string{"redrive", "--queue", "q", "--all", "--key", "a*"}, 2, []string{"--all", "filter"}},
		"redrive bad pattern":      {[]string{"redrive", "--queue", "q", "--key", "[a"}, 2, []string{"key", `"[a"`}},
		"redrive bad range":        {[]string{"redrive", "--queue", "q", "--died", "yesterday"}, 2, []string{"--died", "FROM..TO"}},
		"redrive spread of ids":    {[]string{"redrive", "--queue", "q", "--spread", "1h", "key:a"}, 2, []string{"--spread"}},
		"delete nothing":           {[]string{"delete", "--queue", "q", "--yes"}, 2, []string{"1 arg"}},
		"delete unconfirmed":       {[]string{"delete", "--queue", "q", "key:a"}, 2, []string{"--yes"}},
		"delete bad id":            {[]string{"delete", "--queue", "q", "--yes", "x"}, 2, []string{"id", `"x"`, "key:KEY"}},
		"purge nothing":            {[]string{"purge", "--queue", "q", "--state", "dead", "--yes"}, 2, []string{"--all"}},
		"reschedule nothing":       {[]string{"reschedule", "--queue", "q", "--delay", "1h"}, 2, []string{"--all"}},
		"redrive both":             {[]string{"redrive", "--queue", "q", "--all", "x"}, 2, []string{"--all", "ids"}},
		"redrive bad ids":          {[]string{"redrive", "--queue", "q", "x", "y"}, 2, []string{"id", `"x"`, "26"}},
		"redrive unknown queue":    {[]string{"redrive", "--queue", "q", "--all"}, 3, []string{`"q"`, "not found"}},
		"purge unconfirmed":        {[]string{"purge", "--queue", "q", "--state", "dead", "--all"}, 2, []string{"--yes"}},
		"purge without state":      {[]string{"purge", "--queue", "q", "--yes", "--all"}, 2, []string{`"state"`}},
		"purge leased":             {[]string{"purge", "--queue", "q", "--yes", "--all", "--state", "leased"}, 2, []string{"state", "leased", "dead"}},
		"purge unknown queue":      {[]string{"purge", "--queue", "q", "--yes", "--all", "--state", "dead"}, 3, []string{`"q"`, "not found"}},
		"pause unknown queue":      {[]string{"pause", "--queue", "q"}, 3, []string{`"q"`, "not found"}},
		"resume unknown queue":     {[]string{"resume", "--queue", "q"}, 3, []string{`"q"`, "not found"}},
		"stats unknown queue":      {[]string{"stats", "--queue", "q"}, 3, []string{`"q"`, "not found"}},
		"stats empty queue":        {[]string{"stats", "--queue", ""}, 2, []string{"queue", "empty"}},
		"check unknown queue":      {[]string{"check", "--queue", "q"}, 3, []string{`"q"`, "not found"}},
		"import missing file":      {[]string{"import", "--queue", "q", "/nowhere/at/all"}, 2, []string{"/nowhere/at/all"}},
		"import directory":         {[]string{"import", "--queue", "q", "/"}, 2, []string{"/", "directory"}},
		"import no file":           {[]string{"import", "--queue", "q"}, 2, []string{"1 arg"}},
		"import speed 0":           {[]string{"import", "--queue", "q", "--speed", "0", "-"}, 2, []string{"--speed", `"0"`, "1e+09"}},
		"import speed NaN":         {[]string{"import", "--queue", "q", "--speed", "NaN", "-"}, 2, []string{"--speed", `"NaN"`}},
		"import speed infinite":    {[]string{"import", "--queue", "q", "--speed", "Inf", "-"}, 2, []string{"--speed", `"Inf"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMemory(t).fails(test.code, test.texts, test.args...)
		})
	}
}

func TestRun_NoStore(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"stats"}, {"send", "--queue", "q", "b"}, {"check"}, {"import", "--queue", "q", "-"}} {
		without(t).fails(exitUsage, []string{"--store", "DUEQ_STORE"}, args...)
	}
}

func TestRun_BadStore(t *testing.T) {
	t.Parallel()
	for url, code := range map[string]int{
		"nonsense":                                                      exitUsage,
		"ftp://u:hunter2%zz@localhost":                                  exitUsage,
		"redis://u:hunter2%zz@localhost:6379":                           exitUsage,
		"redis://u:hun ter2@localhost:port":                             exitUsage,
		"redis://u:hunter2@localhost:99999":                             exitUnavailable,
		"redis://u:hunter2@127.0.0.1:1":                                 exitUnavailable,
		"redis+sentinel://127.0.0.1:1/master?sentinel_password=hunter2": exitUnavailable,
		"redis+cluster://u:hunter2@127.0.0.1:1":                         exitUnavailable,
		"redis://u:hunter2@127.0.0.1:1/?no_such_option=hunter2":         exitUsage,
		"unix:///nowhere/redis.sock":                                    exitUnavailable,
		"mem:x":                                                         exitUsage,
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // the command would give up later
			defer cancel()
			for _, args := range [][]string{{"stats", "--store", url}, {"demo", "-o", "json", "--store", url}} {
				got := without(t).write(ctx, "", io.Discard, args...)
				checkFailure(t, got, code, nil, args)
				if strings.Contains(got.err, "hunter2") || strings.Contains(got.err, "hun ter2") {
					t.Errorf("the password is in %q", got.err)
				}
			}
		})
	}
}

// TestRun_PasswordIsHiddenInAllOutput uses errors from which the library did not remove the password.
func TestRun_PasswordIsHiddenInAllOutput(t *testing.T) {
	t.Parallel()
	for url, text := range map[string]string{
		"redis://u:hunter2@h":                                `dial redis://u:hunter2@h: refused`,
		"redis://:hunter%322@h:6379":                         `parse "redis://:hunter%322@h:6379": bad, hunter22 wrong`,
		"redis+sentinel://h/m?sentinel_password=hunter2&x=1": `option sentinel_password=hunter2`,
		"redis://u:hun\"ter2@h":                              `parse "redis://u:hun\"ter2@h": bad`,
	} {
		got := oneLine(errors.New(text), url)
		if strings.Contains(got, "ter2") || strings.Contains(got, "322") || !strings.Contains(got, "xxxxx") {
			t.Errorf("of %s is left: %s", text, got)
		}
	}
	if got := oneLine(errors.New("a"), "redis://h"); got != "dueq: a" {
		t.Errorf("without a password the text became %q", got)
	}
}

func TestRun_UnreadableInput(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"send", "--queue", "q", "-"}, {"import", "--queue", "q", "-"}} {
		closed, err := os.Open(filepath.Join("testdata", "bad.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if err := closed.Close(); err != nil {
			t.Fatal(err)
		}
		var out, errs strings.Builder
		c := console{in: closed, out: &out, err: &errs, env: func(string) string { return "mem:" }}
		if code := run(t.Context(), args, c); code != exitUsage || !strings.Contains(errs.String(), "closed") {
			t.Errorf("dueq %q with closed stdin: exit %d, stderr %q", args, code, errs.String())
		}
	}
}

func TestRun_UnwritableOutput(t *testing.T) {
	t.Parallel()
	var errs strings.Builder
	c := console{in: strings.NewReader(""), out: fullDisk{}, err: &errs, env: func(string) string { return "mem:" }}
	for _, args := range [][]string{{"version"}, {"stats", "-o", "json"}, {"send", "--queue", "q", "b"}} {
		if code := run(t.Context(), args, c); code != exitFailure {
			t.Errorf("dueq %q: exit %d, want %d", args, code, exitFailure)
		}
	}
	if !strings.Contains(errs.String(), "disk full") {
		t.Errorf("stderr is %q", errs.String())
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestRun_InterruptedBeforeItBegins(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	input, writer := io.Pipe() // nothing is ever written to it
	defer func() { _ = writer.Close() }()
	for _, args := range [][]string{{"stats"}, {"send", "--queue", "q", "b"}, {"send", "--queue", "q", "-"}, {"demo"}, {"receive", "--queue", "q", "--wait", "1m"}} {
		var out, errs strings.Builder
		code := run(ctx, args, console{in: input, out: &out, err: &errs, env: func(string) string { return "mem:" }})
		if code != exitFailure || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("dueq %q: exit %d, stderr %q", args, code, errs.String())
		}
	}
}
