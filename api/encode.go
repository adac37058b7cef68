package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/storeroom/storeroom/tenancy/money"
)

// jsonObject is a JSON object with its fields in order.
type jsonObject []jsonField

type jsonField struct {
	name  string
	value any
}

// MarshalJSON encodes an object that is part of a value for encoding/json.
func (o jsonObject) MarshalJSON() ([]byte, error) {
	var e encoder
	err := e.add(o)
	return e.Bytes(), err
}

// fieldGroup has several fields, which need no memory until they are encoded. As the value of a field without
// a name, it adds them to the object; otherwise it is an object.
type fieldGroup interface{ addTo(e *encoder) }

// array is a JSON array. Each element is created when it is encoded, so that only one is in memory.
type array iter.Seq[any]

func arrayFrom[T, J any](items []T, shape func(T) J) array {
	return func(yield func(any) bool) {
		for _, item := range items {
			if !yield(shape(item)) {
				return
			}
		}
	}
}

// envelope returns a response with data and further fields; those with nil are left out.
func envelope(data any, fields ...jsonField) jsonObject {
	o := jsonObject{{"success", true}, {"data", data}}
	for _, f := range fields {
		if f.value != nil {
			o = append(o, f)
		}
	}
	return o
}

// Work on JSON lets other goroutines run after each largePart, about 0.3 ms.
const largePart = 64 << 10

// encoder encodes objects, arrays, numbers and money itself, because a response can have thousands of objects and
// encoding/json copies each object once for each level of nesting.
type encoder struct {
	bytes.Buffer
	part int // the length at which the current part ends
}

// writeLarge sends a response that may be large. It encodes v before it sends the status, as writeJSON does.
func writeLarge(w http.ResponseWriter, r *http.Request, status int, v jsonObject) error {
	e, began := encoder{part: largePart}, time.Now()
	if err := e.add(v); err != nil {
		return err
	}
	spanSince(r.Context(), "encode", began)
	e.WriteByte('\n')
	writeBody(w, status, jsonType, e.Bytes())
	return nil
}

func (e *encoder) add(v any) error {
	switch v := v.(type) {
	case jsonObject:
		e.WriteByte('{')
		for _, f := range v {
			if f.name == "" {
				f.value.(fieldGroup).addTo(e)
				continue
			}
			e.addName(f.name)
			if err := e.add(f.value); err != nil {
				return err
			}
		}
		e.WriteByte('}')
	case array:
		return e.addArray(v)
	case nil:
		e.WriteString("null")
	case bool:
		e.Write(strconv.AppendBool(e.AvailableBuffer(), v))
	case int64:
		e.addInteger(v)
	case money.Cents:
		e.addMoney(v)
	case fieldGroup:
		e.WriteByte('{')
		v.addTo(e)
		e.WriteByte('}')
	default:
		encoder := json.NewEncoder(e)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil {
			return fmt.Errorf("encode the response: %w", err)
		}
		e.Truncate(e.Len() - 1) // without the line feed
	}
	return nil
}

// addName begins a field of an object.
func (e *encoder) addName(name string) {
	if before := e.Bytes(); before[len(before)-1] != '{' {
		e.WriteByte(',')
	}
	e.WriteByte('"')
	e.WriteString(name)
	e.WriteString(`":`)
}

func (e *encoder) addInteger(n int64) { e.Write(strconv.AppendInt(e.AvailableBuffer(), n, 10)) }

func (e *encoder) addMoney(c money.Cents) {
	e.Write(append(c.Append(append(e.AvailableBuffer(), '"')), '"'))
}

func (e *encoder) addArray(elements array) error {
	e.WriteByte('[')
	first := true
	for v := range elements {
		if !first {
			e.WriteByte(',')
		}
		first = false
		if err := e.add(v); err != nil {
			return err
		}
		if e.Len() >= e.part {
			e.part = e.Len() + largePart
			runtime.Gosched() // requests that need little of the CPU run first
		}
	}
	e.WriteByte(']')
	return nil
}
