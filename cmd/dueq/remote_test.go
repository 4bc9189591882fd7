package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dueq-dev/dueq"
)

// TestRemote runs the tests of commands on a store behind dueq serve.
func TestRemote(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"Send": TestSend_ScheduledMessageUntilItsAck, "Receive": TestReceive_AcksWhatItHasPrinted,
		"ReceiveReleases": TestReceive_ReleasesWhatItCannotPrint, "Reschedule": TestReschedule_RunningMessageIsRefused,
		"Pause": TestPause_UntilResume, "Redrive": TestRedrive_DeadLettersByIDAndFilter, "List": TestList_Pages,
		"ListHeader": TestList_PrintsItsHeaderOnce, "Stats": TestStats_JSON, "FullQueue": TestSend_FullQueue, "ShowBody": TestShow_BodyIsEscaped,
		"ShowHolder": TestShow_PrintsTheHolder, "Check": TestCheck_HealthyStore, "Demo": TestDemo_OnRedis, "DemoInUse": TestDemo_QueueInUseIsRefused,
		"Queue": TestQueue_CreateShowUpdate, "QueueDelete": TestQueueDelete_AsksAndRefusesMessages, "DedupID": TestSend_DedupIDPrintsTheFirstID,
		"Repeat": TestSend_RepeatDeclaresARecurringMessage, "ImportRecurring": TestImport_RecurringMessages,
		"Filters": TestRedriveAndPurge_ByFilter, "Delete": TestDelete_ReadsReferencesFromStandardInput, "History": TestHistory_DoneMessagesAreListedShownAndPurged,
	} {
		t.Run(name, test)
	}
}

func TestRemote_TokenOfTheEnvironment(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	s := inMemory(t)
	secret := strings.TrimSpace(s.ok("token", "ops", "--scope", "admin", "--token-file", file))
	server := s.serve("--token-file", file)
	remote := &session{t: t, env: map[string]string{"DUEQ_STORE": server.url}}
	remote.fails(exitUsage, []string{"token is missing"}, "stats")
	remote.env["DUEQ_TOKEN"] = "dueq_wrong"
	remote.fails(exitUsage, []string{"token is not known"}, "stats")
	remote.env["DUEQ_TOKEN"] = secret
	remote.ok("send", "--queue", "q", "body")
	if got := remote.ok("receive", "--queue", "q"); !strings.Contains(got, "body") {
		t.Errorf("received %q", got)
	}
}

// While a directory is served, commands use it through its socket; afterwards they open it.
func TestServe_DirectoryIsReachedThroughItsSocket(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(t.TempDir(), "tokens")
	s := &session{t: t, env: map[string]string{"DUEQ_STORE": "file:" + dir + "?sync=never"}}
	s.ok("token", "ops", "--scope", "read", "--token-file", file)
	server := s.serve("--token-file", file)
	info, err := os.Stat(filepath.Join(dir, "http.sock"))
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Fatalf("the socket: %v, %v", info, err)
	}
	s.ok("send", "--queue", "q", "body")
	s.ok("check")
	if got := s.ok("stats", "-o", "json"); !strings.Contains(got, `"ready":1`) {
		t.Errorf("stats %s", got)
	}
	s.fails(exitUnavailable, []string{"in use by another process", "Client.Backup"}, "backup", dir+".backup")
	s.fails(exitUnavailable, []string{"in use by another process"}, "serve", "--listen", "127.0.0.1:0")
	if got := server.stop(); got.code != exitOK {
		t.Errorf("the server ended with %d: %s", got.code, got.err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "http.sock")); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	if got := s.ok("receive", "--queue", "q"); !strings.Contains(got, "body") {
		t.Errorf("received %q", got)
	}
}

// A killed process leaves its socket behind. Nobody listens on it, so commands open the directory,
// and the next server replaces it.
func TestServe_SocketOfAKilledProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := &session{t: t, env: map[string]string{"DUEQ_STORE": "file:" + dir}}
	killed, out := s.start(nil, "serve", "--listen", "127.0.0.1:0")
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	s.ok("send", "--queue", "q", "body")
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	exitOf(t, killed)
	if _, err := os.Lstat(filepath.Join(dir, "http.sock")); err != nil {
		t.Fatalf("the socket is gone: %v", err)
	}
	s.ok("stats")
	server := s.serve()
	if got := s.ok("receive", "--queue", "q"); !strings.Contains(got, "body") {
		t.Errorf("received %q", got)
	}
	server.stop()
}

func TestOpen_DirectoryInUseNamesTheWayOut(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	client := opened(t)(dueq.Open(t.Context(), "file:"+dir, nil))
	defer func() { _ = client.Close() }()
	s := &session{t: t, env: map[string]string{"DUEQ_STORE": "file:" + dir}}
	s.fails(exitUnavailable, []string{"in use by another process, pid", "dueq serve"}, "stats")
}

// A path that is too long for a socket does not keep a store from being served.
func TestServe_DirectoryWithALongPath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
	s := &session{t: t, env: map[string]string{"DUEQ_STORE": "file:" + dir}}
	server := s.serve()
	if conn, err := net.Dial("tcp", strings.TrimPrefix(server.url, "http://")); err != nil {
		t.Error(err)
	} else {
		_ = conn.Close()
	}
	if got := server.stop(); got.code != exitOK || !strings.Contains(got.warnings+got.err, "could not listen on the socket") || !strings.Contains(got.warnings+got.err, "the limit is 103") {
		t.Errorf("exit code %d, log:\n%s", got.code, got.warnings+got.err)
	}
}
