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
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

const (
	startTimeout = 20 * time.Second
	stopTimeout  = 10 * time.Second
	idleTime     = time.Second
)

// Targets of a started program.
const (
	maxStart = 250 * time.Millisecond // until the first response
	maxIdle  = 45 << 20               // bytes of memory
)

// command returns a command that gets SIGTERM when ctx ends. Its directory has no file .local/env.
func command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = os.TempDir()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	return cmd
}

// instance is the program with a database.
type instance struct {
	program string
	database
	redis, peppers string

	address string             // of the service
	service *exec.Cmd          // nil unless it runs
	stop    context.CancelFunc // ends it
}

// command returns a command of the program.
func (i *instance) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := command(ctx, i.program, args...)
	cmd.Env = []string{
		"DATABASE_URL=" + i.runtime, "DATABASE_ADMIN_URL=" + i.migrator, "REDIS_URL=" + i.redis,
		"STOREROOM_KEY_PEPPERS=" + i.peppers, "STOREROOM_DRAIN=0s", "STOREROOM_ADDR=127.0.0.1:0",
	}
	return cmd
}

// run runs a command to its end.
func (i *instance) run(ctx context.Context, args ...string) (stdout string) {
	cmd := i.command(ctx, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		check(fmt.Errorf("storeroom %s: %w: %s", strings.Join(args, " "), err, &stderr))
	}
	return string(out)
}

// start starts `storeroom serve` and sets its address.
func (i *instance) start(ctx context.Context) {
	ctx, i.stop = context.WithCancel(ctx)
	cmd := i.command(ctx, "serve")
	log := must(cmd.StderrPipe())
	if err := cmd.Start(); err != nil {
		check(fmt.Errorf("start the program (run make build): %w", err))
	}
	i.service = cmd
	late := time.AfterFunc(startTimeout, i.stop)
	defer late.Stop()
	i.address = must(readAddress(log))
	go io.Copy(io.Discard, log)
}

// startAndGet starts the service and waits for its first response.
func (i *instance) startAndGet(ctx context.Context, key string) {
	i.start(ctx)
	fetch(ctx, i.address, get("/api/products").by(key), io.Discard)
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

// close sends SIGTERM to the service, and SIGKILL after a timeout. It does nothing if the service does not run.
func (i *instance) close() error {
	if i.service == nil {
		return nil
	}
	i.stop()
	err := i.service.Wait()
	i.service = nil
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// pid returns the process id of the service.
func (i *instance) pid() int { return i.service.Process.Pid }

// scenario measures the time from the start to the first response, and the memory of a program that is idle.
func (i *instance) scenario(key string) scenario {
	return scenario{
		name: "start", clients: []int{1}, fresh: true, target: target{p50: maxStart, memory: maxIdle},
		work: func(ctx context.Context, _ int) step {
			check(i.close())
			return stepOf(func(context.Context) { i.startAndGet(ctx, key) })
		},
		memory: func() uint64 {
			time.Sleep(idleTime)
			return must(processStatus(i.pid())).VmRSS
		},
	}
}

// processStatus returns the state of a process, such as the memory that it uses.
func processStatus(pid int) (procfs.ProcStatus, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStatus{}, err
	}
	return process.NewStatus()
}

// resetPeakMemory makes VmHWM of processStatus forget what a process used so far.
func resetPeakMemory(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}
