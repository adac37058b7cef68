package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// exitTimeout is longer than the longest shutdown on a busy machine.
const exitTimeout = 2 * time.Minute

// process is the program as a child process.
type process struct {
	*exec.Cmd
	stdout *bufio.Reader
	stderr buffer
	exited chan error // receives the result of Wait
}

// buffer is a bytes.Buffer for concurrent use.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// start runs the program in dir with only these variables. It kills the process when the test ends.
func start(t *testing.T, dir string, environ []string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], args...), exited: make(chan error, 1)}
	p.Dir = dir
	p.Env = append([]string{
		"STOREROOM_TEST_RUN=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
	}, environ...)
	r, w, err := os.Pipe() // not StdoutPipe: Wait would close it before everything is read
	if err != nil {
		t.Fatal(err)
	}
	p.stdout, p.Stdout, p.Stderr = bufio.NewReader(r), w, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() { p.exited <- p.Wait() }()
	t.Cleanup(func() {
		_ = p.Process.Kill() // fails if the process has exited
		r.Close()
		if t.Failed() {
			text := p.stderr.String()
			t.Logf("the end of the log of storeroom %s:\n%s", strings.Join(args, " "), text[max(0, len(text)-2000):])
		}
	})
	return p
}

// address waits until serve is ready and returns its URL.
func (p *process) address(t *testing.T) string { return "http://" + p.awaitLog(t, "serving") }

// opsAddress returns the URL of the operations port, which opens before the public port.
func (p *process) opsAddress(t *testing.T) string {
	return "http://" + p.awaitLog(t, "operations port")
}

// awaitLog waits for a log record with this message and returns its attribute "address", if any.
func (p *process) awaitLog(t *testing.T, message string) string {
	t.Helper()
	for range poll(t) {
		for line := range strings.Lines(p.stderr.String()) {
			var record struct{ Msg, Address string }
			if json.Unmarshal([]byte(line), &record) == nil && record.Msg == message {
				return record.Address
			}
		}
		select {
		case err := <-p.exited:
			t.Fatalf("the program exited before it logged %q: %v: %s", message, err, p.stderr.String())
		default:
		}
	}
	return ""
}

// readUntil returns the standard output up to the line that contains end.
func (p *process) readUntil(t *testing.T, end string) string {
	t.Helper()
	lines, failed := make(chan string), make(chan error, 1)
	go func() {
		var all strings.Builder
		for !strings.Contains(all.String(), end) {
			line, err := p.stdout.ReadString('\n')
			if all.WriteString(line); err != nil {
				failed <- err
				return
			}
		}
		lines <- all.String()
	}()
	select {
	case text := <-lines:
		return text
	case err := <-failed:
		if err == io.EOF {
			err = <-p.exited
		}
		t.Fatalf("the program exited before it printed %q: %v: %s", end, err, p.stderr.String())
	case <-time.After(pollTimeout):
		t.Fatalf("the program did not print %q in %v: %s", end, pollTimeout, p.stderr.String())
	}
	return ""
}

// terminate sends SIGTERM and waits until the program logs the shutdown.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.awaitLog(t, "shutting down")
}

// kill sends SIGKILL and waits for the exit.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wait(t)
}

// stop sends SIGTERM and requires exit code 0.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.mustExit(t)
}

// mustExit requires exit code 0.
func (p *process) mustExit(t *testing.T) {
	t.Helper()
	if err := p.wait(t); err != nil {
		t.Errorf("the program exited with %v, want exit code 0: %s", err, p.stderr.String())
	}
}

// wait returns the result of the process. It fails the test after exitTimeout.
func (p *process) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-p.exited:
		return err
	case <-time.After(exitTimeout):
		t.Fatalf("the program did not exit: %s", p.stderr.String())
		return nil
	}
}

// exitSignal returns the signal that ended a process, or 0.
func exitSignal(err error) syscall.Signal {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.Sys().(syscall.WaitStatus).Signal()
	}
	return 0
}

// pollTimeout is much longer than any condition takes on a busy machine.
const pollTimeout = 2 * time.Minute

// poll yields every 10 ms. It fails the test after pollTimeout.
func poll(t *testing.T) func(func(int) bool) {
	t.Helper()
	return func(yield func(int) bool) {
		end := time.Now().Add(pollTimeout)
		for n := 0; time.Now().Before(end); n++ {
			if !yield(n) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("the condition was not met within %v", pollTimeout)
	}
}
