package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is the program in a process of its own.
type process struct {
	*exec.Cmd
	stdout *bufio.Reader
	stderr log
	exited chan error
}

// log is what a process wrote, readable while it writes.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// start runs the program in dir with just these variables, and kills it when the
// test is over if it has not ended by then.
func start(t *testing.T, dir string, environ []string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], args...), exited: make(chan error, 1)}
	p.Dir = dir
	p.Env = append([]string{"STOREROOM_TEST_RUN=1", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, environ...)
	// A pipe of our own: Wait would close that of StdoutPipe under its reader.
	r, w, err := os.Pipe()
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
		_ = p.Process.Kill() // it may have ended
		r.Close()
		if t.Failed() {
			text := p.stderr.String()
			t.Logf("storeroom %s wrote at its end:\n%s", strings.Join(args, " "), text[max(0, len(text)-2000):])
		}
	})
	return p
}

// address waits until serve says where it serves.
func (p *process) address(t *testing.T) string {
	t.Helper()
	for range poll(t, 20*time.Second) {
		for line := range strings.Lines(p.stderr.String()) {
			var entry struct{ Msg, Address string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving" {
				return "http://" + entry.Address
			}
		}
		select {
		case err := <-p.exited:
			t.Fatalf("the program ended: %v: %s", err, p.stderr.String())
		default:
		}
	}
	return ""
}

// readUntil returns what the process prints up to the line that holds mark.
func (p *process) readUntil(t *testing.T, mark string) string {
	t.Helper()
	lines, failed := make(chan string), make(chan error, 1)
	go func() {
		var all strings.Builder
		for !strings.Contains(all.String(), mark) {
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
		t.Fatalf("the program ended before it said %q: %v: %s", mark, err, p.stderr.String())
	case <-time.After(90 * time.Second):
		t.Fatalf("the program did not say %q in 90 s: %s", mark, p.stderr.String())
	}
	return ""
}

// stop sends SIGTERM and wants exit code 0.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.mustExit(t)
}

func (p *process) mustExit(t *testing.T) {
	t.Helper()
	select {
	case err := <-p.exited:
		if err != nil {
			t.Errorf("the program ended with %v, want exit code 0: %s", err, p.stderr.String())
		}
	case <-time.After(40 * time.Second):
		t.Fatalf("the program did not end: %s", p.stderr.String())
	}
}

// poll yields every 10 ms and fails the test after within.
func poll(t *testing.T, within time.Duration) func(func(int) bool) {
	t.Helper()
	return func(yield func(int) bool) {
		end := time.Now().Add(within)
		for n := 0; time.Now().Before(end); n++ {
			if !yield(n) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("waited in vain for %v", within)
	}
}
