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
	off, on string // addresses
	*programs
	collector *httptest.Server
}

// openTraced starts the program twice on the database of s, and a collector that
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
	t.on, err = start(endpoint, "OTEL_LOGS_EXPORTER=none")
	return t, err
}

func (t *traced) close() error {
	defer t.collector.Close()
	return t.programs.close()
}

// telemetries measure the cost of metrics and 1 % of the traces.
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
		all = append(all, scenario{
			name: "telemetry 1 %: " + l.name, work: send(t.on, key, l.next),
			baseline: send(t.off, key, l.next), against: "none", target: target{ratio: ofUntraced},
		})
	}
	return all
}
