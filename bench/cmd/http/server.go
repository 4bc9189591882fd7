package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a running dueq serve.
type server struct {
	dir     string
	url     string
	command *exec.Cmd
	log     *os.File
}

// start starts dueq serve with a store in a new directory below parent, and waits until it listens.
func start(ctx context.Context, program, parent, store string) (*server, error) {
	dir, err := os.MkdirTemp(parent, "dueq-http-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	if store == "" {
		store = "file:" + filepath.Join(dir, "store")
	}
	if err := s.start(ctx, program, store); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *server) start(ctx context.Context, program, store string) (err error) {
	if s.log, err = os.Create(filepath.Join(s.dir, "log")); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, program, //nolint:gosec // the program that the user named
		"serve", "--listen", "127.0.0.1:0", "--store", store)
	command.Stderr = s.log
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	s.command = command
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the server has not started, see %s: %w", s.log.Name(), err)
	}
	s.url = strings.TrimSpace(line)
	return nil
}

// stop stops the server and removes its store. The log of a server that has failed stays.
func (s *server) stop() error {
	if s.log != nil {
		_ = s.log.Close()
	}
	if s.command != nil {
		if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		if err := s.command.Wait(); err != nil {
			return fmt.Errorf("the server, see %s: %w", s.dir, err)
		}
	}
	return os.RemoveAll(s.dir)
}

// cpu returns the CPU time of the server.
func (s *server) cpu() (time.Duration, error) {
	// Fields 14 and 15, in ticks of 10 ms; the second, the name, has no spaces.
	const user, system, tick = 13, 14, 10 * time.Millisecond
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	var ticks int
	for _, i := range []int{user, system} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// memory returns the resident memory of the server now and at its highest, in bytes.
func (s *server) memory() (now, most int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch {
		case name == "VmRSS" && err == nil:
			now = n << 10
		case name == "VmHWM" && err == nil:
			most = n << 10
		}
	}
	return now, most, nil
}
