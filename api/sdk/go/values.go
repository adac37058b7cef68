package storeroom

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/big"
	"mime/multipart"
	"strconv"
	"time"
)

// Decimal is an exact decimal such as "24.90", money or a percentage.
type Decimal string

// Rat returns the exact value. It is 0 if the text is not a decimal.
func (d Decimal) Rat() *big.Rat {
	r, ok := new(big.Rat).SetString(string(d))
	if !ok {
		return new(big.Rat)
	}
	return r
}

// Time is a moment, with microseconds.
type Time struct{ time.Time }

// At returns the Time of a moment.
func At(t time.Time) Time { return Time{t} }

// String returns the time in UTC, as the service writes it.
func (t Time) String() string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// MarshalJSON encodes what String returns.
func (t Time) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// Scalar is a text or an integer, as text. It is empty for null.
type Scalar string

// UnmarshalJSON accepts a text, a number or null.
func (s *Scalar) UnmarshalJSON(content []byte) error {
	if bytes.Equal(content, []byte("null")) {
		*s = ""
		return nil
	}
	if content[0] != '"' {
		*s = Scalar(content)
		return nil
	}
	return json.Unmarshal(content, (*string)(s))
}

// Raw is a value whose fields are data. Decode it with json.Unmarshal.
type Raw = json.RawMessage

// Optional is a field of a request that can be left out, which its zero value is. Set returns one with a value, and
// Null one that is null.
type Optional[T any] struct {
	value  T
	given  bool
	isNull bool
}

// Set returns a field with a value.
func Set[T any](value T) Optional[T] { return Optional[T]{value: value, given: true} }

// Null returns a field that is null.
func Null[T any]() Optional[T] { return Optional[T]{given: true, isNull: true} }

// Get returns the value, and whether there is one.
func (o Optional[T]) Get() (T, bool) { return o.value, o.given && !o.isNull }

// IsZero reports whether the field is left out.
func (o Optional[T]) IsZero() bool { return !o.given }

// MarshalJSON encodes the value or null.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if o.isNull {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// UnmarshalJSON decodes the value or null.
func (o *Optional[T]) UnmarshalJSON(content []byte) error {
	o.given, o.isNull = true, bytes.Equal(content, []byte("null"))
	return json.Unmarshal(content, &o.value)
}

// yieldPages yields the elements of pages until there are no more.
func yieldPages[T any](yield func(*T, error) bool, next func() ([]T, bool, error)) {
	for more := true; more; {
		var page []T
		var err error
		if page, more, err = next(); err != nil {
			yield(nil, err)
			return
		}
		for i := range page {
			if !yield(&page[i], nil) {
				return
			}
		}
	}
}

func parseID(text string) int64 {
	id, _ := strconv.ParseInt(text, 10, 64)
	return id
}

// Lines decodes the lines of an NDJSON file while it arrives, and closes it. A file that ends too early is an error.
func Lines[T any](f *File) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		defer f.Close()
		r := bufio.NewReader(f)
		for {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 && (err == nil || errors.Is(err, io.EOF)) {
				value := new(T)
				if err := json.Unmarshal(line, value); err != nil {
					yield(nil, fmt.Errorf("decode a line: %w", err))
					return
				}
				if !yield(value, nil) {
					return
				}
			}
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(nil, fmt.Errorf("read %s: %w", f.Name, err))
				return
			}
		}
	}
}

// Upload is a file to send.
type Upload struct {
	Name    string
	Content []byte
}

// form is a body with files.
type form struct {
	files  []Upload
	fields map[string]any // sent as JSON
}

func (f *form) encode() ([]byte, string, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range f.fields {
		content, err := json.Marshal(value)
		if err != nil {
			return nil, "", err
		}
		if err := w.WriteField(name, string(content)); err != nil {
			return nil, "", err
		}
	}
	for _, file := range f.files {
		part, err := w.CreateFormFile("file", file.Name)
		if err != nil {
			return nil, "", err
		}
		if _, err := part.Write(file.Content); err != nil {
			return nil, "", err
		}
	}
	err := w.Close()
	return b.Bytes(), w.FormDataContentType(), err
}
