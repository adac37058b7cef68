package api

import (
	"io"
	"net/http"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/csvexport"
)

const exportDeadline = 120 * time.Second

// exportProducts handles GET /api/products/export, which streams the whole list.
func (s *Server) exportProducts(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	format := q.oneOf("format", "csv", "ndjson")
	filter, err := q.filter(r)
	if err != nil {
		return err
	}
	if err := q.err(); err != nil {
		return err
	}
	file := &download{
		w:           w,
		timeout:     s.limits.readerTimeout,
		contentType: "text/csv; charset=utf-8; header=present",
		name:        "products.csv",
	}
	write := func(to io.Writer) error { return s.writeCSV(r, filter, to) }
	if format == "ndjson" {
		file.contentType, file.name = "application/x-ndjson", "products.ndjson"
		write = func(to io.Writer) error { return s.writeNDJSON(r, filter, to) }
	}
	if r.Method == http.MethodHead {
		file.start()
		return nil
	}
	return file.stream(stateOf(r), write)
}

func (s *Server) writeCSV(r *http.Request, f catalog.Filter, to io.Writer) error {
	file := csvexport.New(to)
	if err := s.Catalog.Walk(r.Context(), tenant(r), f, file.Write); err != nil {
		return err
	}
	return file.Begin() // the header of an empty list
}

// writeNDJSON writes each product on a line, in the format of the product list.
func (s *Server) writeNDJSON(r *http.Request, f catalog.Filter, to io.Writer) error {
	return s.Catalog.Walk(r.Context(), tenant(r), f, func(p catalog.Product) error {
		line, err := encode(s.productShape(p))
		if err != nil {
			return err
		}
		_, err = to.Write(line)
		return err
	})
}
