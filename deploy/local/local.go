// Package local runs a private PostgreSQL and a private Redis out of one
// directory, for a developer's machine and for tests. Nobody has to set up a
// database first, and nothing of the machine's own servers is touched.
//
// The servers listen on 127.0.0.1 alone, with random passwords, on ports that
// are kept from start to start. There is no unix socket, because its path would
// be too long in a deep folder. As root, which PostgreSQL refuses, they run as
// the user postgres or nobody.
//
// They never outlive the process that started them, however it ends. A lock on
// the directory, which the servers inherit, says whether any of them is left,
// so that whatever an earlier start forgot on disk can be told from what is
// still alive.
package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// startTimeout bounds how long a server may take until it answers, with room
// for PostgreSQL to recover after a crash on a slow disk.
const startTimeout = 30 * time.Second

// Options choose what Start brings up.
type Options struct {
	// Postgres and Redis name the servers wanted: a caller that was given the
	// address of one elsewhere starts only the other.
	Postgres, Redis bool
	// Durable makes PostgreSQL survive a crash of the machine. Tests leave it
	// out: their data is thrown away, and they run several times faster.
	Durable bool
}

// Servers are the running servers of one directory.
type Servers struct {
	// AdminURL connects the superuser to the database postgres. It is empty if
	// PostgreSQL was not asked for.
	AdminURL string
	// RedisURL connects to Redis. It is empty if Redis was not asked for.
	RedisURL string

	processes []*process
	lock      *os.File
}

// Start brings up the servers that o names in dir, which it makes if need be,
// and returns once they answer. ctx bounds the start alone: the servers run
// until Stop, or until this process ends. A directory belongs to one process at
// a time: Start returns an error that names the other one. If a server does not
// come up, the error ends with the last lines of its log.
func Start(ctx context.Context, dir string, o Options) (*Servers, error) {
	d, err := openDirectory(ctx, dir)
	if err != nil {
		return nil, err
	}
	s := &Servers{lock: d.lock}
	if o.Postgres {
		if err := s.startPostgres(ctx, d, o.Durable); err != nil {
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

// Stop ends the servers and returns when they are gone and their ports are
// free. A second call does nothing.
func (s *Servers) Stop() error {
	var errs []error
	for _, p := range s.processes {
		if err := p.stop(); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", p.name, err))
		}
	}
	s.processes = nil
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
		s.lock = nil
	}
	return errors.Join(errs...)
}

// serverSpec is what PostgreSQL and Redis have in common: how to start one on a
// port, and how to tell that it answers there.
type serverSpec struct {
	name    string
	command func(port int) command
	ready   func(ctx context.Context, port int) error
}

// startServer runs spec on the port kept in *port. If another program has taken
// it meanwhile, a new one is chosen and kept.
func (s *Servers) startServer(ctx context.Context, d *directory, spec serverSpec, port *int) error {
	const attempts = 5
	var err error
	for range attempts {
		if *port == 0 {
			if *port, err = freePort(); err != nil {
				return err
			}
		}
		if err = d.saveState(); err != nil {
			return err
		}
		if err = s.tryServer(ctx, d, spec, *port); !errors.Is(err, errPortTaken) {
			return err
		}
		*port = 0
	}
	return err
}

// tryServer starts spec once. It returns errPortTaken if that is why it failed.
func (s *Servers) tryServer(ctx context.Context, d *directory, spec serverSpec, port int) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	p, err := d.spawn(spec.name, spec.command(port))
	if err != nil {
		return err
	}
	if err := p.waitReady(ctx, func(ctx context.Context) error { return spec.ready(ctx, port) }); err != nil {
		return errors.Join(err, p.stop())
	}
	s.processes = append(s.processes, p)
	return nil
}

// spawn starts c with its output in the directory's log of that name, and with
// the directory's lock.
func (d *directory) spawn(name string, c command) (*process, error) {
	logPath := filepath.Join(d.path, name+".log")
	if err := os.Rename(logPath, logPath+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return startProcess(name, c, d.account, logPath, d.lock)
}
