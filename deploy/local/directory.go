package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// directory is where the servers of one Start keep everything.
type directory struct {
	path    string
	account account
	lock    *os.File
	state   state
}

// state is what has to be the same at the next start. It holds passwords and
// is kept in servers.json, readable by its owner alone.
type state struct {
	PostgresPort     int    `json:"postgres_port"`
	PostgresPassword string `json:"postgres_password"`
	RedisPort        int    `json:"redis_port"`
	RedisPassword    string `json:"redis_password"`
}

// openDirectory makes dir if need be, locks it and reads what an earlier start
// left there.
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

// lockDirectory takes the lock on the file "lock" and writes our process id in
// it. The servers inherit the open file: the lock is free only when the process
// that took it and all its servers are gone. Where only the servers are left
// they are about to end, so it waits for them; where the process lives, it
// returns an error at once.
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
			return file, writeOwner(file)
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
		}
		if owner := readOwner(file); alive(owner) || !sleep(ctx, 50*time.Millisecond) {
			return nil, errors.Join(fmt.Errorf("%s is in use by the servers of process %d: stop that first", path, owner), file.Close())
		}
	}
}

// writeOwner notes this process in the lock file, for the error that another
// start gets. The lock is lost again if that fails.
func writeOwner(file *os.File) error {
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	if err == nil {
		err = file.Truncate(int64(len(strconv.Itoa(os.Getpid())) + 1))
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	return nil
}

func readOwner(file *os.File) int {
	content, err := io.ReadAll(io.NewSectionReader(file, 0, 32))
	if err != nil {
		return 0
	}
	owner, _, _ := strings.Cut(string(content), "\n")
	pid, _ := strconv.Atoi(owner)
	return pid
}

// alive says whether a process of that id exists, whoever it belongs to.
func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// loadState reads servers.json; a first start finds none.
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

// saveState writes servers.json whole or not at all.
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

// freePort finds a port of 127.0.0.1 that nobody listens on. It stays below the
// range from which systems take the ports of outgoing connections, so that the
// port is still free at the next start.
func freePort() (int, error) {
	const first, last, attempts = 20000, 32000, 100
	for range attempts {
		port := first + rand.IntN(last-first)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		return port, listener.Close()
	}
	return 0, fmt.Errorf("no free port on 127.0.0.1 between %d and %d", first, last)
}

// sleep waits and says whether ctx still stands.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
