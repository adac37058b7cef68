package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector receives and keeps the telemetry that a process exports over OTLP/HTTP.
type collector struct {
	*httptest.Server
	t    *testing.T
	done chan struct{} // closed when the test ends

	mu       sync.Mutex
	override http.HandlerFunc // replaces the normal response, unless it is nil
	counts   map[string]int   // requests by path
	raw      [][]byte         // the encoded messages, which contain strings unchanged
	spans    []*tracepb.Span
	metrics  map[string]*metricspb.Metric // the last export
	logs     []*logspb.LogRecord
	resource *resourcepb.Resource
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{t: t, done: make(chan struct{}), counts: map[string]int{}, metrics: map[string]*metricspb.Metric{}}
	c.Server = httptest.NewServer(c)
	t.Cleanup(func() {
		close(c.done)
		c.CloseClientConnections()
		c.Close()
	})
	return c
}

// respond replaces the normal response.
func (c *collector) respond(override http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.override = override
}

// hang does not respond until the test ends.
func (c *collector) hang(http.ResponseWriter, *http.Request) { <-c.done }

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.counts[r.URL.Path]++
	override := c.override
	c.mu.Unlock()
	if override != nil {
		override(w, r)
		return
	}
	body, err := readExport(r)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return // a service that stops cancels an export and sends the metrics again
	}
	if err == nil {
		err = c.decode(r.URL.Path, body)
	}
	if err != nil {
		c.t.Errorf("export to %s: %v", r.URL.Path, err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf") // an empty body is a valid response
}

func readExport(r *http.Request) ([]byte, error) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = unzipped
	}
	return io.ReadAll(body)
}

// decode stores a message. An OTLP request has the same encoding as the data that it contains.
func (c *collector) decode(path string, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, body)
	switch path {
	case "/v1/traces":
		var data tracepb.TracesData
		if err := proto.Unmarshal(body, &data); err != nil {
			return err
		}
		for _, resource := range data.ResourceSpans {
			c.resource = resource.Resource
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	case "/v1/metrics":
		var data metricspb.MetricsData
		if err := proto.Unmarshal(body, &data); err != nil {
			return err
		}
		for _, resource := range data.ResourceMetrics {
			c.resource = resource.Resource
			for _, scope := range resource.ScopeMetrics {
				for _, m := range scope.Metrics {
					c.metrics[m.Name] = m
				}
			}
		}
	case "/v1/logs":
		var data logspb.LogsData
		if err := proto.Unmarshal(body, &data); err != nil {
			return err
		}
		for _, resource := range data.ResourceLogs {
			c.resource = resource.Resource
			for _, scope := range resource.ScopeLogs {
				c.logs = append(c.logs, scope.LogRecords...)
			}
		}
	default:
		return fmt.Errorf("unknown signal")
	}
	return nil
}

// received returns all messages so far.
func (c *collector) received() [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.raw)
}

func (c *collector) requests(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[path]
}

// resourceText returns the attributes of the resource.
func (c *collector) resourceText() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return attributesOf(c.resource.GetAttributes()).String()
}

func (c *collector) records() []*logspb.LogRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.logs)
}

// traces returns the spans by trace id.
func (c *collector) traces() map[string][]*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string][]*tracepb.Span{}
	for _, s := range c.spans {
		id := string(s.TraceId)
		all[id] = append(all[id], s)
	}
	return all
}

// points returns the value of every point by name and attributes. The value of a histogram is its count.
func (c *collector) points() map[string]float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]float64{}
	for name, m := range c.metrics {
		for _, p := range slices.Concat(m.GetSum().GetDataPoints(), m.GetGauge().GetDataPoints()) {
			value := p.GetAsDouble()
			if n, whole := p.Value.(*metricspb.NumberDataPoint_AsInt); whole {
				value = float64(n.AsInt)
			}
			all[name+attributesOf(p.Attributes).String()] = value
		}
		for _, p := range m.GetHistogram().GetDataPoints() {
			all[name+attributesOf(p.Attributes).String()] = float64(p.Count)
		}
	}
	return all
}

// attributes are the attributes of a span, a log record or a point.
type attributes map[string]string

func attributesOf(all []*commonpb.KeyValue) attributes {
	a := attributes{}
	for _, kv := range all {
		switch v := kv.Value.GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			a[kv.Key] = v.StringValue
		default:
			_, text, _ := strings.Cut(kv.Value.String(), ":")
			a[kv.Key] = text
		}
	}
	return a
}

// String returns {name=value,…}, sorted by name.
func (a attributes) String() string {
	pairs := make([]string, 0, len(a))
	for name, value := range a {
		pairs = append(pairs, name+"="+value)
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, ",") + "}"
}
