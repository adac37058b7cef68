package api

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/csvexport"
	"github.com/storeroom/storeroom/tenancy"
)

const (
	exportDeadline = 120 * time.Second
	// slowReader is how long a client may take to accept what was written before
	// the export is given up.
	slowReader = 30 * time.Second
	// exportsPerTenant bounds the exports of a tenant at a time on an instance.
	exportsPerTenant = 2
	// bulksPerTenant bounds its bulk requests, whose bodies are held whole.
	bulksPerTenant = 4
)

var errExports = &problem{code: ServiceUnavailable, message: "Two exports of this account are running; wait until one has ended."}

// exportProducts answers GET /api/products/export: the whole list, streamed.
func (s *Server) exportProducts(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	format := q.oneOf("format", "csv", "ndjson")
	f, err := q.filter(r)
	if err != nil {
		return err
	}
	if err := q.err(); err != nil {
		return err
	}
	file := &download{w: w, slow: s.limits.slowReader, kind: "text/csv; charset=utf-8; header=present", name: "products.csv"}
	write := func(to io.Writer) error { return s.writeCSV(r, f, to) }
	if format == "ndjson" {
		file.kind, file.name = "application/x-ndjson", "products.ndjson"
		write = func(to io.Writer) error { return s.writeNDJSON(r, f, to) }
	}
	if r.Method == http.MethodHead {
		file.begin()
		return nil
	}
	if !s.exports.take(tenant(r)) {
		return errExports
	}
	defer s.exports.give(tenant(r))
	return file.fill(exchangeOf(r), write)
}

func (s *Server) writeCSV(r *http.Request, f catalog.Filter, to io.Writer) error {
	file := csvexport.New(to)
	if err := s.catalog.Walk(r.Context(), tenant(r), f, file.Write); err != nil {
		return err
	}
	return file.Begin() // of an empty list no row was written
}

// writeNDJSON writes each product on a line, as the list shows it.
func (s *Server) writeNDJSON(r *http.Request, f catalog.Filter, to io.Writer) error {
	return s.catalog.Walk(r.Context(), tenant(r), f, func(p catalog.Product) error {
		line, err := encode(productShape(p))
		if err != nil {
			return err
		}
		_, err = to.Write(line)
		return err
	})
}

// download is a file that is streamed. What goes wrong before its first byte is
// sent becomes an answer; afterwards the connection is cut, so that half a file
// cannot be taken for a whole one.
type download struct {
	w     http.ResponseWriter
	slow  time.Duration // how long the client may take for a part
	begun bool
	kind  string // of content
	name  string
	size  int64 // in bytes; 0 where it shows at the end only
}

// fill sends what write writes.
func (d *download) fill(x *exchange, write func(io.Writer) error) error {
	to := bufio.NewWriterSize(d, 64<<10)
	err := write(to)
	if err == nil {
		err = to.Flush()
	}
	switch {
	case err != nil && d.begun:
		x.err, x.cut = err, true
		panic(http.ErrAbortHandler)
	case err != nil:
		return err
	}
	d.begin() // of an empty file nothing was written
	return nil
}

func (d *download) begin() {
	if d.begun {
		return
	}
	d.begun = true
	h := d.w.Header()
	h.Set("Content-Type", d.kind)
	h.Set("Content-Disposition", `attachment; filename="`+d.name+`"`)
	if d.size > 0 {
		h.Set("Content-Length", strconv.FormatInt(d.size, 10))
	}
	d.w.WriteHeader(http.StatusOK)
}

// Write sends a part.
func (d *download) Write(b []byte) (int, error) {
	setWriteDeadline(d.w, d.slow)
	d.begin()
	return d.w.Write(b)
}

// setWriteDeadline gives an answer another deadline than the server's, which is
// meant for short ones. An answer that is only recorded has none to move.
func setWriteDeadline(w http.ResponseWriter, in time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(in))
}

// slowForm is how long a form of the pages may take to arrive: it is short.
const slowForm = 5 * time.Second

// setReadDeadline bounds how long the rest of a request may take to arrive.
func setReadDeadline(w http.ResponseWriter, in time.Duration) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(in))
}

// slots bounds what a tenant may have running at a time.
type slots struct {
	kind  metric.MeasurementOption
	mu    sync.Mutex
	most  int
	taken map[tenancy.ID]int
}

func newSlots(kind string, most int) *slots {
	return &slots{kind: workSets.of(kind), most: most, taken: map[tenancy.ID]int{}}
}

func (s *slots) take(id tenancy.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[id] >= s.most {
		workRefused.Add(context.Background(), 1, s.kind)
		return false
	}
	s.taken[id]++
	workActive.Add(context.Background(), 1, s.kind)
	return true
}

func (s *slots) give(id tenancy.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	workActive.Add(context.Background(), -1, s.kind)
	if s.taken[id]--; s.taken[id] == 0 {
		delete(s.taken, id)
	}
}
