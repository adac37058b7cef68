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
	off, traces, logs *process
	collector         *httptest.Server
}

// openTraced starts the program three times on the database of s, and a collector that
// discards everything.
func openTraced(ctx context.Context, program string, s *service, d database, redisURL string) (_ *traced, err error) {
	t := &traced{collector: httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	start := func(variables ...string) (*process, error) {
		return startProcess(ctx, program, append([]string{
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

func (t *traced) close() error {
	defer t.collector.Close()
	return errors.Join(t.off.stop(), t.traces.stop(), t.logs.stop())
}

// process is a running `storeroom serve`.
type process struct {
	command *exec.Cmd
	address string
	done    chan struct{} // closed at the end of its log
}

// startProcess starts the program and waits until its log contains the address.
func startProcess(ctx context.Context, program string, variables []string) (*process, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	p := &process{command: exec.Command(program, "serve"), done: make(chan struct{})}
	p.command.Dir = os.TempDir() // a directory without .local/env
	p.command.Env = variables
	log, err := p.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start the program (run make build): %w", err)
	}
	// Without the process the log ends, and readAddress returns.
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	stopKill := context.AfterFunc(ctx, func() { _ = p.command.Process.Kill() })
	err = p.readAddress(log)
	stopKill()
	go func() {
		_, _ = io.Copy(io.Discard, log)
		close(p.done)
	}()
	if err != nil {
		return nil, errors.Join(err, ctx.Err(), p.stop())
	}
	return p, nil
}

// readAddress reads the log up to the line "serving". If the log ends before, the error
// contains it.
func (p *process) readAddress(log io.Reader) error {
	var all strings.Builder
	for lines := bufio.NewReader(log); ; {
		text, err := lines.ReadString('\n')
		all.WriteString(text)
		var line struct{ Msg, Address string }
		if json.Unmarshal([]byte(text), &line) == nil && line.Msg == "serving" {
			p.address = line.Address
			return nil
		}
		if err != nil {
			return fmt.Errorf("the program ended:\n%s", &all)
		}
	}
}

// stop sends SIGTERM, and SIGKILL after a timeout.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	kill := time.AfterFunc(stopTimeout, func() { _ = p.command.Process.Kill() })
	defer kill.Stop()
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	<-p.done
	return p.command.Wait()
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
		off := send(t.off.address, key, l.next)
		all = append(all,
			scenario{
				name: "telemetry 1 %: " + l.name, work: send(t.traces.address, key, l.next),
				baseline: off, against: "none", target: target{ratio: ofUntraced},
			},
			scenario{
				name: "telemetry 1 % and logs: " + l.name, work: send(t.logs.address, key, l.next),
				baseline: off, against: "none",
			})
	}
	return all
}
