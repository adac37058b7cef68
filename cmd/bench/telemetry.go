package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
)

const ofUntraced = 0.9 // target share of the rate without telemetry

// traced runs the program in separate processes with and without telemetry, because a
// process chooses its telemetry at start.
type traced struct {
	off, traces, logs string // addresses
	*programs
	collector *httptest.Server
}

// openTraced starts the program three times on the database of s, and a collector that
// discards everything.
func openTraced(ctx context.Context, program string, s *service, d database, redisURL string) (_ *traced, err error) {
	t := &traced{
		programs: newPrograms(ctx),
		collector: httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
		})),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	start := func(variables ...string) (address string, err error) {
		return t.start(program, d, redisURL, s.peppers, append([]string{
			"OTEL_TRACES_SAMPLER=parentbased_traceidratio",
			"OTEL_TRACES_SAMPLER_ARG=0.01",
		}, variables...)...)
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
	return t.programs.close()
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
