package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/storeroom/storeroom/tenancy/paging"
)

// success is the envelope of data.
type success struct {
	Success bool `json:"success"`
	Data    any  `json:"data"`
	Meta    any  `json:"meta,omitempty"`
}

// pageMeta tells where in a list a page stands.
type pageMeta struct {
	Page       int   `json:"page"`
	PerPage    int   `json:"per_page"`
	Total      int64 `json:"total"`
	TotalPages int64 `json:"total_pages"`
	HasNext    bool  `json:"has_next"`
	HasPrev    bool  `json:"has_prev"`
}

func writeData(w http.ResponseWriter, status int, data any) error {
	return writeJSON(w, status, success{Success: true, Data: data})
}

// writeCreated answers 201 and says where the new object is.
func writeCreated(w http.ResponseWriter, collection string, id int64, data any) error {
	w.Header().Set("Location", collection+"/"+strconv.FormatInt(id, 10))
	return writeData(w, http.StatusCreated, data)
}

// walkMeta stands in pageMeta's place where a list is walked by cursor.
type walkMeta struct {
	PerPage    int     `json:"per_page"`
	Total      int64   `json:"total"`
	NextCursor *string `json:"next_cursor"` // null at the end
}

// writePage answers with one page of a list, each item in its JSON shape.
func writePage[T, J any](w http.ResponseWriter, asked paging.Page, list paging.List[T], shape func(T) J) error {
	return writeJSON(w, http.StatusOK, success{Success: true, Data: mapSlice(list.Items, shape), Meta: metaOf(asked, list.Total)})
}

// metaOf tells where in a list of total rows a page stands.
func metaOf(asked paging.Page, total int64) pageMeta {
	perPage := int64(asked.PerPage)
	pages := (total + perPage - 1) / perPage
	return pageMeta{
		Page: asked.Number, PerPage: asked.PerPage, Total: total, TotalPages: pages,
		HasNext: int64(asked.Number) < pages, HasPrev: asked.Number > 1,
	}
}

func mapSlice[T, J any](items []T, shape func(T) J) []J {
	shaped := make([]J, len(items))
	for i, item := range items {
		shaped[i] = shape(item)
	}
	return shaped
}

// writeJSON encodes v before it sends the status, so that an error can still
// become an honest answer.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	send(w, status, body)
	return nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return b.Bytes(), nil
}

func send(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone is no error of ours
}

// timestamp is a time in UTC with exactly six fraction digits, so that times sort
// as text.
type timestamp time.Time

// MarshalJSON writes 2026-03-01T09:30:00.000000Z.
func (t timestamp) MarshalJSON() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(make([]byte, 0, 32), `"2006-01-02T15:04:05.000000Z"`), nil
}

// named is an object that is referred to.
type named struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// maybeNamed is null where nothing is referred to.
func maybeNamed(id *int64, name *string) *named {
	if id == nil || name == nil {
		return nil
	}
	return &named{*id, *name}
}
