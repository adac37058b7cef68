// Package local runs a private PostgreSQL and a private Redis in one directory, for
// development and tests. It does not touch other servers on the machine.
//
// The servers listen only on 127.0.0.1, with random passwords, on ports that stay the
// same from start to start. They use no Unix socket, because its path would be too long
// in a deep directory. PostgreSQL refuses to run as root, so root starts the servers as
// the user postgres or nobody.
//
// The servers end when the process that started them ends, even if it is killed. They
// inherit a lock on the directory, so the next start can detect servers that still run.
package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// startTimeout limits the time until a server answers. It includes PostgreSQL's recovery
// after a crash on a slow disk.
const startTimeout = 30 * time.Second

// Options selects what Start starts.
type Options struct {
	// Postgres and Redis select the servers to start.
	Postgres, Redis bool
	// Durable makes PostgreSQL survive a crash of the machine. Tests run several times
	// faster without it.
	Durable bool
	// SharedBuffers is the setting shared_buffers of PostgreSQL, 128MB if empty.
	SharedBuffers string
	// StandbyOf is the URL of a superuser of a durable PostgreSQL. The first start copies that server, and the copy
	// follows it as a streaming standby.
	StandbyOf string
	// Node makes PostgreSQL a node of a Citus cluster.
	Node *Node
}

// Servers are the running servers of one directory.
type Servers struct {
	// AdminURL connects the superuser to the database postgres. It is empty if
	// PostgreSQL was not started.
	AdminURL string
	// RedisURL connects to Redis. It is empty if Redis was not started.
	RedisURL string

	processes []*process
	lock      *os.File
}

// Start starts the servers selected by o in dir, which it creates if needed, and returns when they answer. ctx limits
// only the start: the servers run until Stop or until this process ends. The error has the end of the log of a server
// that does not start, or the id of another process that uses dir.
func Start(ctx context.Context, dir string, o Options) (*Servers, error) {
	d, err := openDirectory(ctx, dir)
	if err != nil {
		return nil, err
	}
	s := &Servers{lock: d.lock}
	if o.Postgres {
		if err := s.startPostgres(ctx, d, o); err != nil {
			return nil, errors.Join(fmt.Errorf("start PostgreSQL in %s: %w", d.path, err), s.Stop())
		}
	}
	if o.Redis {
		if err := s.startRedis(ctx, d); err != nil {
			return nil, errors.Join(fmt.Errorf("start Redis in %s: %w", d.path, err), s.Stop())
		}
	}
	return s, nil
}

// Stop stops the servers and waits until they have ended and their ports are free. A
// second call does nothing.
func (s *Servers) Stop() error {
	var errs []error
	for _, p := range s.processes {
		if err := p.stop(); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", p.name, err))
		}
	}
	s.processes = nil
	if s.lock != nil {
		if len(errs) == 0 {
			// Close alone keeps the lock until a process that another goroutine starts meanwhile has closed its copy.
			errs = append(errs, syscall.Flock(int(s.lock.Fd()), syscall.LOCK_UN))
		}
		errs = append(errs, s.lock.Close())
		s.lock = nil
	}
	return errors.Join(errs...)
}

// server describes how to start a server and how to check that it answers. Both functions
// use *port, which is a field of the state.
type server struct {
	name    string
	port    *int
	command func() command
	ready   func(context.Context) error
}

// startServer runs a server. If another program uses its port, it chooses and saves another
// one.
func (s *Servers) startServer(ctx context.Context, d *directory, v server) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		if err := d.choosePort(v.port); err != nil {
			return err
		}
		p, err := d.spawn(v.name, v.command())
		if err != nil {
			return err
		}
		if err = p.waitReady(ctx, v.ready); err == nil {
			s.processes = append(s.processes, p)
			return nil
		}
		if err = errors.Join(err, p.stop()); attempt == 5 || !errors.Is(err, errPortTaken) {
			return err
		}
		*v.port = 0
	}
}

// spawn starts c with the log file name.log and with the directory's lock.
func (d *directory) spawn(name string, c command) (*process, error) {
	logPath := filepath.Join(d.path, name+".log")
	if err := os.Rename(logPath, logPath+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return startProcess(name, c, d.account, logPath, d.lock)
}
