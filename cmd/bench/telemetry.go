package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	ofUntraced   = 0.9 // target share of the rate without telemetry
	startTimeout = 20 * time.Second
	stopTimeout  = 10 * time.Second
)

// traced runs the program in separate processes with and without telemetry, because a
// process chooses its telemetry at start.
type traced struct {
	off, traces, logs string // addresses
	processes         []*exec.Cmd
	stop              context.CancelFunc
	collector         *httptest.Server
}

// openTraced starts the program three times on the database of s, and a collector that
// discards everything.
func openTraced(ctx context.Context, program string, s *service, d database, redisURL string) (_ *traced, err error) {
	t := &traced{collector: httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))}
	ctx, t.stop = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	if program, err = filepath.Abs(program); err != nil {
		return t, err
	}
	start := func(variables ...string) (address string, err error) {
		return t.start(ctx, program, append([]string{
			"DATABASE_URL=" + d.runtime,
			"REDIS_URL=" + redisURL,
			"STOREROOM_KEY_PEPPERS=" + s.peppers,
			"STOREROOM_DRAIN=0s",
			"STOREROOM_ADDR=127.0.0.1:0",
			"OTEL_TRACES_SAMPLER=parentbased_traceidratio",
			"OTEL_TRACES_SAMPLER_ARG=0.01",
		}, variables...))
	}
	endpoint := "OTEL_EXPORTER_OTLP_ENDPOINT=" + t.collector.URL
	if t.off, err = start(); err != nil {
		return t, err
	}
	if t.traces, err = start(endpoint, "OTEL_LOGS_EXPORTER=none"); err != nil {
		return t, err
	}
	t.logs, err = start(endpoint)
	return t, err
}

// start starts `storeroom serve`, which gets SIGTERM when ctx ends, and returns its address.
func (t *traced) start(ctx context.Context, program string, variables []string) (address string, err error) {
	cmd := exec.CommandContext(ctx, program, "serve")
	cmd.Dir = os.TempDir() // a directory without .local/env
	cmd.Env = variables
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	log, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start the program (run make build): %w", err)
	}
	t.processes = append(t.processes, cmd)
	late := time.AfterFunc(startTimeout, t.stop)
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
func (t *traced) close() error {
	defer t.collector.Close()
	t.stop()
	var errs []error
	for _, cmd := range t.processes {
		if err := cmd.Wait(); !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// telemetries measure the cost of metrics and 1 % of the traces, and of logs in addition.
func telemetries(s *service, t *traced) []scenario {
	key := s.shops[large].key
	var all []scenario
	for _, l := range []struct {
		name string
		next func(*rand.Rand) request
	}{
		{"get by id", s.shops[large].byID},
		{"page 1", always("/api/products")},
	} {
		off := send(t.off, key, l.next)
		all = append(all,
			scenario{
				name: "telemetry 1 %: " + l.name, work: send(t.traces, key, l.next),
				baseline: off, against: "none", target: target{ratio: ofUntraced},
			},
			scenario{
				name: "telemetry 1 % and logs: " + l.name, work: send(t.logs, key, l.next),
				baseline: off, against: "none",
			})
	}
	return all
}
