package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// startRedis runs a Redis without persistence, because the service can lose its data at any
// time.
func (s *Servers) startRedis(ctx context.Context, d *directory) error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return errors.New("redis-server is not installed: " +
			"install the package redis-server (Debian, Ubuntu) or redis (Homebrew)")
	}
	if d.state.RedisPassword == "" {
		d.state.RedisPassword = rand.Text()
	}
	err = s.startServer(ctx, d, server{
		name:    "redis",
		port:    &d.state.RedisPort,
		command: func() command { return d.state.redisCommand(path) },
		ready:   func(ctx context.Context) error { return pingRedis(ctx, d.state.RedisPort, d.state.RedisPassword) },
	})
	s.RedisURL = fmt.Sprintf("redis://default:%s@127.0.0.1:%d/0", d.state.RedisPassword, d.state.RedisPort)
	return err
}

// redisCommand passes the configuration on standard input, so that other users of the
// machine cannot read the password.
func (s state) redisCommand(path string) command {
	config := fmt.Sprintf("bind 127.0.0.1\nport %d\nrequirepass %s\nsave \"\"\nappendonly no\ndaemonize no\n",
		s.RedisPort, s.RedisPassword)
	return command{path: path, args: []string{"-"}, stdin: config, quit: []syscall.Signal{syscall.SIGTERM}}
}

// pingRedis sends a command with the password. It does not use the Redis client, which
// logs every failed attempt before Redis listens.
func pingRedis(ctx context.Context, port int, password string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "AUTH %s\r\nPING\r\n", password); err != nil {
		return err
	}
	const want = "+OK\r\n+PONG\r\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if string(got) != want {
		return fmt.Errorf("the server refused the connection: %q", got)
	}
	return nil
}
