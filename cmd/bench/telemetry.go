package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	ofUntraced  = 0.9 // of the rate without telemetry
	startWithin = 20 * time.Second
	endWithin   = 10 * time.Second
)

// process is a `storeroom serve` of its own: whether a process is traced is decided
// once in its life.
type process struct {
	command *exec.Cmd
	address string
	drained chan struct{} // closed when its log has ended
}

// watched are the same service in processes with and without telemetry, and a
// collector that takes everything and keeps nothing.
type watched struct {
	off, traced, logged *process
	collector           *http.Server
}

// openWatched starts the program three times on the database of s.
func openWatched(ctx context.Context, program string, s *service, d database, redisURL string) (_ *watched, err error) {
	w := &watched{}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return w, err
	}
	w.collector = &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what is cut short is not missed
	})}
	go w.collector.Serve(listener)

	common := []string{"DATABASE_URL=" + d.runtime, "REDIS_URL=" + redisURL, "STOREROOM_KEY_PEPPERS=" + s.peppers, "STOREROOM_DRAIN=0s"}
	sampled := append(common[:len(common):len(common)],
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://"+listener.Addr().String(), "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.01")
	if w.off, err = startProcess(ctx, program, common); err != nil {
		return w, err
	}
	if w.traced, err = startProcess(ctx, program, append(sampled[:len(sampled):len(sampled)], "OTEL_LOGS_EXPORTER=none")); err != nil {
		return w, err
	}
	w.logged, err = startProcess(ctx, program, sampled)
	return w, err
}

// startProcess waits until the program says where it serves.
func startProcess(ctx context.Context, program string, variables []string) (*process, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	p := &process{command: exec.Command(program, "serve"), drained: make(chan struct{})}
	p.command.Dir = os.TempDir() // where nothing is saved that it would read
	p.command.Env = append(variables, "STOREROOM_ADDR=127.0.0.1:0")
	log, err := p.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start the program (make build makes it): %w", err)
	}
	serving, told := make(chan string, 1), make(chan string, 1)
	go func() {
		defer close(p.drained)
		var all strings.Builder
		lines := bufio.NewReader(log)
		for {
			text, err := lines.ReadString('\n')
			all.WriteString(text)
			var line struct{ Msg, Address string }
			if json.Unmarshal([]byte(text), &line) == nil && line.Msg == "serving" {
				serving <- line.Address
				_, _ = io.Copy(io.Discard, lines)
				return
			}
			if err != nil {
				told <- all.String()
				return
			}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	select {
	case p.address = <-serving:
		return p, nil
	case all := <-told:
		err = fmt.Errorf("the program ended:\n%s", all)
	case <-ctx.Done():
		err = fmt.Errorf("the program does not serve: %w", ctx.Err())
	}
	return nil, errors.Join(err, p.stop())
}

// stop ends the program as an operator would, and by force if that takes too long.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	force := time.AfterFunc(endWithin, func() { _ = p.command.Process.Kill() })
	defer force.Stop()
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	<-p.drained
	return p.command.Wait()
}

func (w *watched) close() error {
	err := errors.Join(w.off.stop(), w.traced.stop(), w.logged.stop())
	if w.collector != nil {
		err = errors.Join(err, w.collector.Close())
	}
	return err
}

// telemetries measure what it costs to be watched: traces of one request in a
// hundred with all metrics, and then each line of the log over OTLP too.
func telemetries(s *service, w *watched) []scenario {
	at := func(p *process, t traffic) traffic {
		t.address = p.address
		return t
	}
	var all []scenario
	for _, l := range []struct {
		name string
		work traffic
	}{
		{"get by id", s.at(large, s.shops[large].byID)},
		{"page 1", s.at(large, always("/api/products"))},
	} {
		off := at(w.off, l.work)
		all = append(all,
			scenario{name: "telemetry 1 %: " + l.name, work: at(w.traced, l.work), beside: off, against: "none", aim: aim{ratio: ofUntraced}},
			scenario{name: "telemetry 1 % and logs: " + l.name, work: at(w.logged, l.work), beside: off, against: "none"})
	}
	return all
}
