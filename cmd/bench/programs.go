package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = 20 * time.Second
	stopTimeout  = 10 * time.Second
)

// programs are running processes of the service.
type programs struct {
	ctx       context.Context // ends them
	stop      context.CancelFunc
	processes []*exec.Cmd
}

func newPrograms(ctx context.Context) *programs {
	ctx, stop := context.WithCancel(ctx)
	return &programs{ctx: ctx, stop: stop}
}

// command returns a command that gets SIGTERM when ctx ends. Its directory has no file .local/env.
func command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = os.TempDir()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	return cmd
}

// start starts `storeroom serve` and returns its address.
func (p *programs) start(
	program string, d database, redisURL, peppers string, variables ...string,
) (address string, err error) {
	if program, err = filepath.Abs(program); err != nil {
		return "", err
	}
	cmd := command(p.ctx, program, "serve")
	cmd.Env = append([]string{
		"DATABASE_URL=" + d.runtime, "REDIS_URL=" + redisURL, "STOREROOM_KEY_PEPPERS=" + peppers,
		"STOREROOM_DRAIN=0s", "STOREROOM_ADDR=127.0.0.1:0",
	}, variables...)
	log, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start the program (run make build): %w", err)
	}
	p.processes = append(p.processes, cmd)
	late := time.AfterFunc(startTimeout, p.stop)
	defer late.Stop()
	address, err = readAddress(log)
	go io.Copy(io.Discard, log)
	return address, err
}

// readAddress reads the log up to the line "serving". If the log ends before, the error
// contains it.
func readAddress(log io.Reader) (string, error) {
	var all strings.Builder
	for lines := bufio.NewReader(log); ; {
		text, err := lines.ReadString('\n')
		all.WriteString(text)
		var line struct{ Msg, Address string }
		if json.Unmarshal([]byte(text), &line) == nil && line.Msg == "serving" {
			return line.Address, nil
		}
		if err != nil {
			return "", fmt.Errorf("the program ended:\n%s", &all)
		}
	}
}

// close sends SIGTERM to the processes, and SIGKILL after a timeout.
func (p *programs) close() error {
	p.stop()
	var errs []error
	for _, cmd := range p.processes {
		if err := cmd.Wait(); !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
