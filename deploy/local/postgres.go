package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// superuser owns the cluster. The service uses it only to create roles and databases.
const superuser = "storeroom_admin"

// startPostgres creates the cluster on the first start and runs it.
func (s *Servers) startPostgres(ctx context.Context, d *directory, durable bool) error {
	data := filepath.Join(d.path, "postgres")
	bin, err := postgresBin(ctx, data)
	if err != nil {
		return err
	}
	if err := d.initPostgres(ctx, bin, data, durable); err != nil {
		return err
	}
	// The lock guarantees that no server of this directory runs. After a crash the file
	// contains a process id that another process may use by now.
	if err := os.Remove(filepath.Join(data, "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err = s.startServer(ctx, d, server{
		name:    "postgres",
		port:    &d.state.PostgresPort,
		command: func() command { return postgresCommand(bin, data, d.state.PostgresPort, durable) },
		ready:   func(ctx context.Context) error { return pingPostgres(ctx, d.state.adminURL()) },
	})
	s.AdminURL = d.state.adminURL()
	return err
}

func (s state) adminURL() string {
	return fmt.Sprintf("postgres://%s:%s@127.0.0.1:%d/postgres?sslmode=disable",
		superuser, s.PostgresPassword, s.PostgresPort)
}

// initPostgres creates the cluster unless it exists. It creates it under another name and
// renames it when it is complete, so that an interrupted start leaves no partial cluster.
func (d *directory) initPostgres(ctx context.Context, bin, data string, durable bool) error {
	if _, err := os.Stat(data); err == nil {
		if d.state.PostgresPassword == "" {
			return fmt.Errorf("%s exists but servers.json has no password for it: remove both to start over", data)
		}
		return nil
	}
	if d.state.PostgresPassword == "" {
		d.state.PostgresPassword = rand.Text()
	}
	if err := d.saveState(); err != nil {
		return err
	}
	password := filepath.Join(d.path, "postgres.password")
	defer os.Remove(password)
	if err := errors.Join(
		os.WriteFile(password, []byte(d.state.PostgresPassword), 0o600), d.account.own(password),
	); err != nil {
		return err
	}
	// C.UTF-8 handles case beyond ASCII, but some systems do not have it.
	err := d.initdb(ctx, bin, data, "--pwfile="+password, "C.UTF-8", durable)
	if err != nil && ctx.Err() == nil {
		err = d.initdb(ctx, bin, data, "--pwfile="+password, "C", durable)
	}
	return err
}

// initdb creates a cluster with a locale at data.
func (d *directory) initdb(ctx context.Context, bin, data, pwfile, locale string, durable bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*startTimeout)
	defer cancel()
	unfinished := data + ".init"
	if err := errors.Join(os.RemoveAll(unfinished), os.Mkdir(unfinished, 0o700), d.account.own(unfinished)); err != nil {
		return err
	}
	args := []string{
		"-D", unfinished, "--username=" + superuser, pwfile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=" + locale,
	}
	if !durable {
		args = append(args, "--no-sync")
	}
	initdb := command{path: filepath.Join(bin, "initdb"), args: args, quit: []syscall.Signal{syscall.SIGTERM}}
	p, err := d.spawn("initdb", initdb)
	if err != nil {
		return err
	}
	if err := p.wait(ctx); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	return os.Rename(unfinished, data)
}

// postgresCommand runs the server directly instead of pg_ctl, so that it is a child of this
// process. SIGINT requests a fast shutdown, SIGQUIT an immediate one.
func postgresCommand(bin, data string, port int, durable bool) command {
	settings := []string{
		"listen_addresses=127.0.0.1",
		"port=" + strconv.Itoa(port),
		"unix_socket_directories=",
		"max_connections=200",
		"shared_buffers=128MB",
		"jit=off", // costs more than it saves on short queries
		"timezone=UTC",
		"log_timezone=UTC",
	}
	if !durable {
		settings = append(settings,
			"fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0")
	}
	args := []string{"-D", data}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	quit := []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT}
	return command{path: filepath.Join(bin, "postgres"), args: args, quit: quit}
}

// pingPostgres opens a connection with the password.
func pingPostgres(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}
