package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// errPortTaken says that a server ended because its port was in use.
var errPortTaken = errors.New("the port is in use by another program")

// errFinal marks an answer that no waiting will change, such as a wrong password.
var errFinal = errors.New("the server refuses us")

// command is a program to run, and how it is asked to end: by the first signal,
// and where that does not help in time by the next.
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
	done    chan struct{} // closed when the child is gone
	err     error         // how it ended, once done is closed
}

// startProcess runs c as a, with its output in a new file at logPath. The child
// holds inherited open. When this process ends in any way, the kernel sends the
// child c's first signal: it does so when the starting thread ends, so a
// goroutine keeps that thread until the child is gone.
func startProcess(name string, c command, a account, logPath string, inherited *os.File) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.path, c.args...)
	cmd.Dir = "/" // ours may be closed to the account
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

// waitReady calls ready until it returns nil, the process ends or ctx does.
func (p *process) waitReady(ctx context.Context, ready func(context.Context) error) error {
	attempt, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.done:
			cancel() // whoever answers on the port is not ours
		case <-attempt.Done():
		}
	}()
	for {
		err := ready(attempt)
		if err == nil {
			return nil
		}
		pause := 20 * time.Millisecond
		if errors.Is(err, errFinal) {
			pause = 2 * time.Second // ours would have ended by then if this is another's answer
		}
		select {
		case <-p.done:
			return p.failure()
		case <-ctx.Done():
			return fmt.Errorf("no answer: %w: %w\n%s", ctx.Err(), err, p.logTail())
		case <-time.After(pause):
		}
		if errors.Is(err, errFinal) {
			return err
		}
	}
}

// wait returns when the process has ended, and kills it if ctx ends first.
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

// failure explains the end of the process by its log.
func (p *process) failure() error {
	tail := p.logTail()
	if strings.Contains(tail, "Address already in use") {
		return fmt.Errorf("%w\n%s", errPortTaken, tail)
	}
	return fmt.Errorf("%s ended at once (%s):\n%s", p.name, p.cmd.ProcessState, tail)
}

// stop asks the process and what it started to end, ever more firmly, and
// returns once they have. That it was ended by our signal is no error.
func (p *process) stop() error {
	const patience = 20 * time.Second
	for _, signal := range append(p.quit, syscall.SIGKILL) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		gone := p.ended(ctx, signal)
		cancel()
		if gone {
			return nil
		}
	}
	return fmt.Errorf("process %d does not end", p.cmd.Process.Pid)
}

// ended sends a signal to the process group and says whether it is empty before
// ctx ends. A group without members is what no signal can be sent to.
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
	const lines, size = 15, 4096
	file, err := os.Open(p.logPath)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > size {
		_, _ = file.Seek(-size, io.SeekEnd) // from the start is as good
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
