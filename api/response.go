package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

const jsonType = "application/json"

// success is the envelope of data.
type success struct {
	Success bool `json:"success"`
	Data    any  `json:"data"`
}

func writeData(w http.ResponseWriter, status int, data any) error {
	return writeJSON(w, status, success{Success: true, Data: data})
}

// writeCreated sends a 201 with the location of the new object.
func writeCreated(w http.ResponseWriter, collection string, id int64, data any) error {
	w.Header().Set("Location", collection+"/"+strconv.FormatInt(id, 10))
	return writeData(w, http.StatusCreated, data)
}

// cursorMeta is the meta of lists that are read with a cursor.
type cursorMeta struct {
	PerPage    int     `json:"per_page"`
	Total      int64   `json:"total"`
	NextCursor *string `json:"next_cursor"` // null at the end
}

// writePage sends one page of a list.
func writePage[T, J any](
	w http.ResponseWriter, r *http.Request, page paging.Page, list paging.List[T], shape func(T) J,
) error {
	meta := jsonField{"meta", pageMeta(page, list.Total)}
	return writeLarge(w, r, http.StatusOK, envelope(arrayFrom(list.Items, shape), meta))
}

// writeStep sends one part of a list that is read with a cursor. next is nil at the end.
func writeStep[T, J any](
	w http.ResponseWriter, r *http.Request, page paging.Page, list paging.List[T], next *paging.Position,
	cursor func(tenancy.ID, paging.Position) string, shape func(T) J,
) error {
	meta := cursorMeta{PerPage: page.PerPage, Total: list.Total}
	if next != nil {
		meta.NextCursor = new(cursor(tenant(r), *next))
	}
	return writeLarge(w, r, http.StatusOK, envelope(arrayFrom(list.Items, shape), jsonField{"meta", meta}))
}

// pageMeta returns the position of a page in a list of total rows.
func pageMeta(page paging.Page, total int64) jsonObject {
	perPage := int64(page.PerPage)
	pages := (total + perPage - 1) / perPage
	return jsonObject{
		{"page", int64(page.Number)}, {"per_page", perPage}, {"total", total}, {"total_pages", pages},
		{"has_next", int64(page.Number) < pages}, {"has_prev", page.Number > 1},
	}
}

func mapSlice[T, J any](items []T, shape func(T) J) []J {
	shaped := make([]J, len(items))
	for i, item := range items {
		shaped[i] = shape(item)
	}
	return shaped
}

// writeJSON encodes v before it sends the status, so that an encoding error can still become a 500.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	writeBody(w, status, jsonType, body)
	return nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the response: %w", err)
	}
	return b.Bytes(), nil
}

// writeBody sends a response, compressed if the client accepts it.
func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	varies(h)
	if c := codingOf(w, len(body)); c != nil {
		recorded := w.(*recorder)
		if compressed, ok := c.encode(recorded.ticket, body); ok {
			body = compressed
			h.Set("Content-Encoding", c.name)
			if tag := h.Get("ETag"); tag != "" {
				h.Set("ETag", c.etag(tag))
			}
		}
	}
	values := []string{contentType, strconv.Itoa(len(body))} // of both, in one allocation
	h["Content-Type"], h["Content-Length"] = values[:1:1], values[1:]
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client disconnected
}

// timestamp is a time that is written in UTC with exactly six fraction digits, so that times sort as text.
type timestamp time.Time

// MarshalJSON writes 2026-03-01T09:30:00.000000Z.
func (t timestamp) MarshalJSON() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(make([]byte, 0, 32), `"2006-01-02T15:04:05.000000Z"`), nil
}

// named identifies a category, a seller, a warehouse or a key inside another object.
type named struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// optionalNamed returns nil if there is no id.
func optionalNamed(id *int64, name *string) *named {
	if id == nil || name == nil {
		return nil
	}
	return &named{*id, *name}
}
