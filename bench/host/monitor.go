package host

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"time"
)

// Commands counts the commands that Redis got and that it executed.
type Commands struct {
	Sent     int // by clients
	Executed int // also by scripts
}

// Monitor counts commands for d with MONITOR, which alone distinguishes commands of clients from those
// that scripts call. Nothing else may use the server.
func (r *Redis) Monitor(ctx context.Context, d time.Duration) (Commands, error) {
	var count Commands
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", r.Socket)
	if err != nil {
		return count, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		return count, err
	}
	if err := conn.SetReadDeadline(time.Now().Add(d)); err != nil {
		return count, err
	}
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return count, nil
		}
		if err != nil {
			return count, err
		}
		count.add(line)
	}
}

// add counts a line such as: +1700000000.123456 [0 lua] "ZADD" ...
func (c *Commands) add(line string) {
	_, source, ok := strings.Cut(line, " [")
	if !ok {
		return // +OK
	}
	c.Executed++
	if source, _, _ = strings.Cut(source, "]"); !strings.HasSuffix(source, " lua") {
		c.Sent++
	}
}
