package local

import (
	"cmp"
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
func (s *Servers) startPostgres(ctx context.Context, d *directory, o Options) error {
	data := filepath.Join(d.path, "postgres")
	if o.Node != nil {
		d.state.PostgresPassword = o.Node.Password
	}
	bin, err := o.findPostgres(ctx, data)
	if err != nil {
		return err
	}
	if err := d.initPostgres(ctx, bin, data, o); err != nil {
		return err
	}
	if o.Node != nil {
		if err := d.configureNode(ctx, data, o.Node); err != nil {
			return err
		}
	}
	// The lock guarantees that no server of this directory runs. After a crash the file
	// contains a process id that another process may use by now.
	if err := os.Remove(filepath.Join(data, "postmaster.pid")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err = s.startServer(ctx, d, server{
		name:    "postgres",
		port:    &d.state.PostgresPort,
		command: func() command { return o.postgresCommand(bin, data, d.state.PostgresPort) },
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
func (d *directory) initPostgres(ctx context.Context, bin, data string, o Options) error {
	if _, err := os.Stat(data); err == nil {
		if d.state.PostgresPassword == "" {
			return fmt.Errorf("%s exists but servers.json has no password for it: remove both to start over", data)
		}
		return nil
	}
	if o.StandbyOf != "" {
		return d.copyPostgres(ctx, bin, data, o.StandbyOf)
	}
	if d.state.PostgresPassword == "" {
		d.state.PostgresPassword = rand.Text()
	}
	file, err := d.savePassword("postgres.password", d.state.PostgresPassword)
	defer os.Remove(file)
	if err != nil {
		return err
	}
	// C.UTF-8 handles case beyond ASCII, but some systems do not have it.
	err = d.initdb(ctx, bin, data, file, "C.UTF-8", o.Durable)
	if err != nil && ctx.Err() == nil {
		err = d.initdb(ctx, bin, data, file, "C", o.Durable)
	}
	return err
}

// savePassword saves the state, and writes a file with the password in the form that a program reads.
func (d *directory) savePassword(name, text string) (file string, err error) {
	file = filepath.Join(d.path, name)
	return file, errors.Join(d.saveState(), os.WriteFile(file, []byte(text), 0o600), d.account.own(file))
}

// initdb creates a cluster with a locale at data.
func (d *directory) initdb(ctx context.Context, bin, data, password, locale string, durable bool) error {
	args := []string{
		"--username=" + superuser, "--pwfile=" + password,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=" + locale,
	}
	if !durable {
		args = append(args, "--no-sync")
	}
	return d.createCluster(ctx, bin, data, "initdb", args...)
}

// copyPostgres creates a standby of the server with a superuser's URL. The superuser keeps its password.
func (d *directory) copyPostgres(ctx context.Context, bin, data, primary string) error {
	config, err := pgx.ParseConfig(primary)
	if err != nil {
		return err
	}
	d.state.PostgresPassword = config.Password
	// The standby reads this file whenever it connects.
	file, err := d.savePassword("postgres.passfile", "*:*:*:*:"+config.Password)
	if err != nil {
		return err
	}
	return d.createCluster(ctx, bin, data, "pg_basebackup", "--write-recovery-conf", "--checkpoint=fast", "--no-sync",
		fmt.Sprintf("--dbname=host=%s port=%d user=%s passfile='%s'", config.Host, config.Port, config.User, file))
}

// createCluster runs a program that creates a cluster in an empty directory, and renames the result to data.
func (d *directory) createCluster(ctx context.Context, bin, data, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*startTimeout)
	defer cancel()
	unfinished := data + ".init"
	if err := errors.Join(os.RemoveAll(unfinished), os.Mkdir(unfinished, 0o700), d.account.own(unfinished)); err != nil {
		return err
	}
	args = append([]string{"--pgdata=" + unfinished}, args...)
	p, err := d.spawn(name, command{path: filepath.Join(bin, name), args: args, quit: []syscall.Signal{syscall.SIGTERM}})
	if err != nil {
		return err
	}
	if err := p.wait(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.Rename(unfinished, data)
}

func (o Options) findPostgres(ctx context.Context, data string) (bin string, err error) {
	if o.Node != nil {
		return o.Node.Bin, nil
	}
	return postgresBin(ctx, data)
}

// postgresCommand runs the server directly instead of pg_ctl, so that it is a child of this
// process. SIGINT requests a fast shutdown, SIGQUIT an immediate one.
func (o Options) postgresCommand(bin, data string, port int) command {
	settings := []string{
		"listen_addresses=127.0.0.1",
		"port=" + strconv.Itoa(port),
		"unix_socket_directories=",
		"max_connections=200",
		"shared_buffers=" + cmp.Or(o.SharedBuffers, "128MB"),
		"jit=off", // costs more than it saves on short queries
		"timezone=UTC",
		"log_timezone=UTC",
	}
	if !o.Durable {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	if o.Node != nil {
		settings = append(settings, "max_worker_processes=64") // Citus uses one for each database
	} else if !o.Durable {
		settings = append(settings, "wal_level=minimal", "max_wal_senders=0")
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
