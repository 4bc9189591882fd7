package host

import "testing"

func TestCommands_ScriptsAndClientsAreCountedSeparately(t *testing.T) {
	t.Parallel()
	var c Commands
	for _, line := range []string{
		"+OK\r\n",
		`+1700000000.1 [0 unix:redis.sock] "EVALSHA" "abc" "1" "k"` + "\r\n",
		`+1700000000.2 [0 lua] "ZADD" "k" "1" "[0 unix] not a client"` + "\r\n",
		`+1700000000.3 [0 127.0.0.1:5000] "SET" "a lua]" "b"` + "\r\n",
	} {
		c.add(line)
	}
	if c != (Commands{Sent: 2, Executed: 3}) {
		t.Errorf("%+v, want 2 sent, 3 executed", c)
	}
}
