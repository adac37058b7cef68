package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// directory contains all files of the servers of one Start.
type directory struct {
	path    string
	account account
	lock    *os.File
	state   state
}

// state must stay the same at the next start. It contains passwords and is stored in
// servers.json, readable only by its owner.
type state struct {
	PostgresPort     int    `json:"postgres_port"`
	PostgresPassword string `json:"postgres_password"`
	RedisPort        int    `json:"redis_port"`
	RedisPassword    string `json:"redis_password"`
}

// openDirectory creates dir if needed, locks it and reads the state of an earlier start.
func openDirectory(ctx context.Context, dir string) (*directory, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockDirectory(ctx, path)
	if err != nil {
		return nil, err
	}
	d := &directory{path: path, lock: lock}
	if err := errors.Join(d.chooseAccount(ctx), d.loadState()); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

// lockDirectory locks the file "lock" and writes the id of this process to it. The servers
// inherit the open file, so the lock is held until the process and all its servers have
// ended. If the process has ended, its servers are ending too, and lockDirectory waits.
func lockDirectory(ctx context.Context, path string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	file, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			err = os.WriteFile(file.Name(), []byte(strconv.Itoa(os.Getpid())), 0o600)
		}
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
		}
		content, _ := os.ReadFile(file.Name())
		owner, _ := strconv.Atoi(string(content)) // 0 if the other process has not written it yet
		if alive(owner) || !sleep(ctx, 50*time.Millisecond) {
			err = fmt.Errorf("%s is in use by the servers of process %d: stop it first", path, owner)
			return nil, errors.Join(err, file.Close())
		}
	}
}

// alive reports whether a process with that id exists, of any user.
func alive(pid int) bool {
	if pid == 0 {
		return false // the lock file is empty
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// loadState reads servers.json, which does not exist at the first start.
func (d *directory) loadState() error {
	path := filepath.Join(d.path, "servers.json")
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, &d.state); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// saveState writes servers.json atomically.
func (d *directory) saveState() error {
	content, err := json.MarshalIndent(d.state, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(d.path, "servers.json")
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// choosePort saves an unused port of 127.0.0.1 in *port, a field of the state, unless it has
// a port. The port is below the range of ephemeral ports, so that it is most likely free at
// the next start too.
func (d *directory) choosePort(port *int) error {
	const first, last = 20000, 32000
	for attempt := 0; *port == 0; attempt++ {
		if attempt == 100 {
			return fmt.Errorf("no free port on 127.0.0.1 between %d and %d", first, last)
		}
		candidate := first + rand.IntN(last-first)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(candidate)))
		if err == nil {
			*port = candidate
			listener.Close()
		}
	}
	return d.saveState()
}

// sleep waits for d. It returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
