package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Rabbit is a RabbitMQ broker with an epmd of its own, both on loopback.
type Rabbit struct {
	URL    string
	queues []string // to delete at a reset
	env    []string
	epmd   *exec.Cmd
	broker *exec.Cmd
}

// The directories in which Debian has the programs themselves. Those in the PATH are wrappers that
// change the user and leave the process group.
const (
	rabbitProgram = "/usr/lib/rabbitmq/bin/rabbitmq-server"
	rabbitControl = "/usr/lib/rabbitmq/bin/rabbitmqctl"
)

// StartRabbit starts Debian's RabbitMQ, or the program in DUEQ_RABBITMQ_SERVER, as the current user.
// Reset deletes the given queues.
func StartRabbit(ctx context.Context, dir string, queues ...string) (*Rabbit, error) {
	program := os.Getenv("DUEQ_RABBITMQ_SERVER")
	if program == "" {
		program = rabbitProgram
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	r := &Rabbit{
		URL:    "amqp://guest:guest@127.0.0.1:" + ports[0] + "/",
		queues: queues, env: rabbitEnv(dir, ports),
	}
	log := filepath.Join(dir, "rabbitmq.log")
	if r.epmd, err = start(log, nil, "epmd", "-address", "127.0.0.1", "-port", ports[2]); err != nil {
		return nil, fmt.Errorf("start epmd: %w", err)
	}
	// The variable makes the script become the broker, so that its pid is the broker's.
	if r.broker, err = start(log, r.env, program); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), stop(r.epmd))
	}
	if err := await(ctx, r.Ping); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s, log in %s: %w", program, dir, err), r.Stop())
	}
	return r, nil
}

func rabbitEnv(dir string, ports []string) []string {
	return []string{
		"HOME=" + dir, // of the Erlang cookie
		"RUNNING_UNDER_SYSTEMD=true",
		"RABBITMQ_NODENAME=dueqbench@localhost",
		"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT=" + ports[0],
		"RABBITMQ_DIST_PORT=" + ports[1],
		"ERL_EPMD_ADDRESS=127.0.0.1", "ERL_EPMD_PORT=" + ports[2],
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
		"RABBITMQ_MNESIA_BASE=" + filepath.Join(dir, "rabbitmq"),
		"RABBITMQ_LOG_BASE=" + filepath.Join(dir, "rabbitmq-log"),
		"RABBITMQ_PID_FILE=" + filepath.Join(dir, "rabbitmq.pid"),
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + filepath.Join(dir, "rabbitmq-plugins"),
		"RABBITMQ_CONFIG_FILE=" + filepath.Join(dir, "rabbitmq"),
		"RABBITMQ_CONF_ENV_FILE=" + filepath.Join(dir, "rabbitmq-env.conf"),
	}
}

// freePorts returns ports that are free now. Another process may take one before the broker does; then
// the start fails and can be repeated.
func freePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// Ping tries to connect.
func (r *Rabbit) Ping() error {
	return r.with(func(*amqp.Channel) error { return nil })
}

// with runs f on a channel of a connection of its own. It is called rarely, so it need not be fast.
func (r *Rabbit) with(f func(*amqp.Channel) error) error {
	conn, err := amqp.Dial(r.URL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	return f(ch)
}

// Reset deletes the queues.
func (r *Rabbit) Reset(context.Context) error {
	return r.with(func(ch *amqp.Channel) error {
		for _, q := range r.queues {
			if _, err := ch.QueueDelete(q, false, false, false); err != nil {
				return err
			}
		}
		return nil
	})
}

// CPU of the broker's process, in the kernel's ticks of 10 ms.
func (r *Rabbit) CPU(context.Context) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.broker.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b))
	user, err1 := strconv.Atoi(fields[13])
	sys, err2 := strconv.Atoi(fields[14])
	return time.Duration(user+sys) * 10 * time.Millisecond, errors.Join(err1, err2)
}

// Memory is the memory that Erlang has allocated, without garbage. The resident set does not shrink, so
// it would depend on the workloads before.
func (r *Rabbit) Memory(ctx context.Context) (int64, error) {
	cmd := exec.CommandContext(ctx, rabbitControl, "--silent", "eval",
		"[garbage_collect(P) || P <- processes()], erlang:memory(total).")
	cmd.Env = append(os.Environ(), r.env...)
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("%s eval: %w: %s", rabbitControl, err, out)
	}
	return strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
}

// Version as the broker reports it to each client.
func (r *Rabbit) Version(context.Context) (string, error) {
	conn, err := amqp.Dial(r.URL)
	if err != nil {
		return "", err
	}
	version, _ := conn.Properties["version"].(string)
	return version, conn.Close()
}

// Stop ends the broker, then epmd.
func (r *Rabbit) Stop() error {
	return errors.Join(stop(r.broker), stop(r.epmd))
}
