package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// errPortTaken reports that a server ended because its port was in use.
var errPortTaken = errors.New("the port is in use by another program")

// command is a program to run and the signals that stop it: the first, then the next if it
// does not end in time.
type command struct {
	path  string
	args  []string
	stdin string
	quit  []syscall.Signal
}

// process is a running child.
type process struct {
	name    string
	cmd     *exec.Cmd
	quit    []syscall.Signal
	logPath string
	done    chan struct{} // closed when the child has ended
	err     error         // of the child, set before done is closed
}

// startProcess runs c as a, with its output in a new file at logPath. The child inherits
// an open file. When the thread that started the child ends, the kernel sends the child
// c's first signal, so a goroutine locks that thread until the child has ended.
func startProcess(name string, c command, a account, logPath string, inherited *os.File) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.path, c.args...)
	cmd.Dir = "/" // the account may not be able to enter the current directory
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.Stdin = strings.NewReader(c.stdin)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{inherited}
	cmd.SysProcAttr = a.attributes(c.quit[0])
	p := &process{name: name, cmd: cmd, quit: c.quit, logPath: logPath, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("run %s: %w", c.path, err)
	}
	return p, nil
}

// waitReady calls ready until it returns nil, the process ends or ctx ends.
func (p *process) waitReady(ctx context.Context, ready func(context.Context) error) error {
	attempt, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-p.done
		cancel() // another program may answer on the port
	}()
	for {
		err := ready(attempt)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return p.failure()
		case <-ctx.Done():
			return fmt.Errorf("no answer: %w: %w\n%s", ctx.Err(), err, p.logTail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// wait waits until the process has ended. It stops the process if ctx ends first.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.stop())
	}
	if p.err != nil {
		return p.failure()
	}
	return nil
}

// failure returns an error with the end of the log.
func (p *process) failure() error {
	tail := p.logTail()
	if strings.Contains(tail, "Address already in use") {
		return fmt.Errorf("%w\n%s", errPortTaken, tail)
	}
	return fmt.Errorf("%s ended unexpectedly (%s):\n%s", p.name, p.cmd.ProcessState, tail)
}

// stop sends the stop signals to the process group, finally SIGKILL, and waits until the
// group has ended.
func (p *process) stop() error {
	const timeout = 20 * time.Second
	for _, signal := range append(p.quit, syscall.SIGKILL) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		ended := p.ended(ctx, signal)
		cancel()
		if ended {
			return nil
		}
	}
	return fmt.Errorf("process %d does not end", p.cmd.Process.Pid)
}

// ended sends a signal to the process group and reports whether the group ended before
// ctx. Signals to an empty group fail with ESRCH.
func (p *process) ended(ctx context.Context, signal syscall.Signal) bool {
	group := -p.cmd.Process.Pid
	if err := syscall.Kill(group, signal); errors.Is(err, syscall.ESRCH) {
		return true
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return false
	}
	for !errors.Is(syscall.Kill(group, 0), syscall.ESRCH) {
		if !sleep(ctx, 5*time.Millisecond) {
			return false
		}
	}
	return true
}

// logTail returns the last lines of the log.
func (p *process) logTail() string {
	const lines = 15
	content, err := os.ReadFile(p.logPath)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
