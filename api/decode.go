package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

const (
	// maxElements bounds a list of texts, so that a body cannot ask for a
	// million messages.
	maxElements = 1000
	// maxFields bounds an object likewise, and maxFaults what is said of one
	// list: what a body costs must not grow faster than the body.
	maxFields = 200
	maxFaults = 50
	// swallowed is how much of a body that is too large is read all the same: a
	// client that is still sending does not see the answer.
	swallowed = 32 << 20
)

// object is a JSON object whose fields are taken out one by one. What is left at
// the end is unknown. Faults of every field are collected; a field with a fault
// counts as not set.
type object struct {
	path   string // of the object in the body, "" or with a dot at its end
	fields map[string]json.RawMessage
	faults tenancy.InvalidError // shared by all objects of a body
}

// readBody reads the body of a request: one JSON object, sent as such.
func (s *Server) readBody(r *http.Request) (*object, error) {
	if !sentAsJSON(r.Header) {
		return nil, &problem{code: UnsupportedMediaType}
	}
	raw, err := readAll(r, exchangeOf(r).route.bodyLimit(s.limits))
	if err != nil {
		return nil, err
	}
	return parseBody(raw)
}

// readOptionalBody is readBody where no body is as good as an empty object.
func (s *Server) readOptionalBody(r *http.Request) (*object, error) {
	raw, err := readAll(r, exchangeOf(r).route.bodyLimit(s.limits))
	switch {
	case err != nil:
		return nil, err
	case len(raw) == 0:
		return &object{faults: tenancy.InvalidError{}}, nil
	case !sentAsJSON(r.Header):
		return nil, &problem{code: UnsupportedMediaType}
	}
	return parseBody(raw)
}

func parseBody(raw []byte) (*object, error) {
	if !utf8.Valid(raw) {
		return nil, &problem{code: InvalidJSON, message: "The body is not valid UTF-8."}
	}
	o, err := parseObject(raw, "", tenancy.InvalidError{})
	if err != nil {
		return nil, &problem{code: InvalidJSON, message: fmt.Sprintf("The body is not one JSON object: %v.", err)}
	}
	return o, nil
}

// sentAsJSON accepts application/json with any charset, and nothing else.
func sentAsJSON(h http.Header) bool {
	encoding := h.Get("Content-Encoding")
	kind, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	delete(parameters, "charset")
	return err == nil && kind == "application/json" && len(parameters) == 0 && (encoding == "" || encoding == "identity")
}

func readAll(r *http.Request, limit int64) ([]byte, error) {
	tooLarge := &problem{code: PayloadTooLarge, message: fmt.Sprintf("The body is larger than %d bytes.", limit)}
	if r.ContentLength > limit && (r.Header.Get("Expect") != "" || r.ContentLength > swallowed) {
		return nil, tooLarge
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case err != nil:
		return nil, &problem{code: InvalidJSON, message: "The body could not be read to its end.", cause: err}
	case int64(len(raw)) > limit:
		_, _ = io.CopyN(io.Discard, r.Body, swallowed)
		return nil, tooLarge
	}
	return raw, nil
}

// parseObject reads raw, which is valid UTF-8, as one JSON object.
func parseObject(raw []byte, path string, faults tenancy.InvalidError) (*object, error) {
	if !json.Valid(raw) {
		return nil, syntaxError(raw)
	}
	return splitObject(raw, path, faults)
}

// splitObject is parseObject for JSON that is known to be valid. A name that stands
// twice is refused, not resolved: one of the values would be lost silently.
func splitObject(raw []byte, path string, faults tenancy.InvalidError) (*object, error) {
	at, is := enter(raw, '{')
	if !is {
		return nil, errors.New("it is another JSON value")
	}
	fields := map[string]json.RawMessage{}
	for literal := at.next(); literal != nil; literal = at.next() {
		if len(fields) == maxFields {
			return nil, fmt.Errorf("%san object has more than %d fields", path, maxFields)
		}
		name := unquote(literal)
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("%s%s is there twice", path, name)
		}
		fields[name] = at.next()
	}
	return &object{path, fields, faults}, nil
}

// walk goes through what an object or array holds, names and values alike, without
// a copy. The JSON is known to be valid: what stands between two of them can be
// passed over.
type walk struct{ rest []byte }

// enter begins a walk behind the bracket of raw, if it is that.
func enter(raw []byte, bracket byte) (walk, bool) {
	raw = bytes.TrimLeft(raw, blanks)
	return walk{raw[1:]}, raw[0] == bracket
}

const blanks = " \t\r\n"

// next returns the next name or value; nil is the end.
func (w *walk) next() json.RawMessage {
	w.rest = bytes.TrimLeft(w.rest, blanks+",:")
	if w.rest[0] == '}' || w.rest[0] == ']' {
		return nil
	}
	n := extent(w.rest)
	value := w.rest[:n:n]
	w.rest = w.rest[n:]
	return value
}

// extent is how long the value at the start of raw is.
func extent(raw []byte) int {
	switch raw[0] {
	case '"':
		return quoted(raw)
	case '{', '[':
		for i, depth := 0, 0; ; i++ {
			switch raw[i] {
			case '"':
				i += quoted(raw[i:]) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	return len(raw) - len(bytes.TrimLeft(raw, "+-.0123456789Eaeflnrstu")) // a number, true, false or null
}

// quoted is how long the string at the start of raw is.
func quoted(raw []byte) int {
	i := 1
	for ; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// unquote returns the text of a JSON string.
func unquote(raw json.RawMessage) (text string) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	_ = json.Unmarshal(raw, &text) // it is a string
	return text
}

func syntaxError(raw []byte) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return errors.New("it is empty")
	}
	var ignored any
	err := json.Unmarshal(raw, &ignored)
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w (at byte %d)", err, at.Offset)
	}
	return errors.New("it does not follow the syntax of JSON")
}

// take removes a field and returns its value.
func (o *object) take(name string) (value json.RawMessage, set, null bool) {
	value, set = o.fields[name]
	delete(o.fields, name)
	return value, set, string(value) == "null"
}

func (o *object) fault(name, message string) { o.faults.Add(o.path+name, "%s", message) }

// field takes a field whose value is read by parse, which returns a fault or "".
func field[T any](o *object, name string, parse func(json.RawMessage) (T, string)) catalog.Field[T] {
	raw, set, null := o.take(name)
	if !set || null {
		return catalog.Field[T]{Set: set, Null: null}
	}
	value, fault := parse(raw)
	if fault != "" {
		o.fault(name, fault)
		return catalog.Field[T]{}
	}
	return catalog.Value(value)
}

// required takes a field that must be there; null is as good as absent.
func required[T any](o *object, name string, parse func(json.RawMessage) (T, string)) (value T) {
	raw, set, null := o.take(name)
	fault := "is required"
	if set && !null {
		value, fault = parse(raw)
	}
	if fault != "" {
		o.fault(name, fault)
	}
	return value
}

// optional takes a field that may be absent or null, which is nil.
func optional[T any](o *object, name string, parse func(json.RawMessage) (T, string)) *T {
	f := field(o, name, parse)
	if !f.Set || f.Null {
		return nil
	}
	return &f.Value
}

func (o *object) text(name string) catalog.Field[string]       { return field(o, name, parseText) }
func (o *object) integer(name string) catalog.Field[int64]     { return field(o, name, parseWhole) }
func (o *object) money(name string) catalog.Field[money.Cents] { return field(o, name, parseMoney) }

// texts takes an array of strings; an element's fault goes under its own place.
func (o *object) texts(name string) catalog.Field[[]string] {
	return field(o, name, func(raw json.RawMessage) ([]string, string) {
		elements, fault := elementsOf(raw, maxElements, "an array of strings")
		if fault != "" {
			return nil, fault
		}
		faults := 0
		values := make([]string, 0, len(elements))
		for i, element := range elements {
			value, fault := parseText(element)
			if fault != "" {
				o.fault(fmt.Sprintf("%s[%d]", name, i), fault)
				if faults++; faults == maxFaults {
					return nil, fmt.Sprintf("has %d faults or more", maxFaults)
				}
				continue
			}
			values = append(values, value)
		}
		return values, ""
	})
}

// elementsOf reads an array, but no more elements than it may have.
func elementsOf(raw json.RawMessage, max int, what string) ([]json.RawMessage, string) {
	at, is := enter(raw, '[')
	if !is {
		return nil, "must be " + what
	}
	elements := []json.RawMessage{}
	for element := at.next(); element != nil; element = at.next() {
		if len(elements) == max {
			return nil, fmt.Sprintf("must have at most %d elements", max)
		}
		elements = append(elements, element)
	}
	return elements, ""
}

// nested reads an object inside of o, under a path of its own.
func (o *object) nested(name string, raw json.RawMessage) (inner *object, fault string) {
	inner, err := splitObject(raw, o.path+name+".", o.faults)
	if err != nil {
		return nil, fmt.Sprintf("must be one JSON object: %v", err)
	}
	return inner, ""
}

// reference takes `<name>_id`, or the id inside the object `<name>` that a
// response shows in its place. Both together must agree.
func (o *object) reference(name string) catalog.Field[int64] {
	given := o.integer(name + "_id")
	_, faulty := o.faults[o.path+name+"_id"]
	raw, set, null := o.take(name)
	shown := catalog.Field[int64]{Set: set, Null: null}
	if set && !null {
		nested, fault := o.nested(name, raw)
		if fault != "" {
			o.fault(name, "must be an object with an id")
			return given
		}
		shown = nested.integer("id")
	}
	switch {
	case faulty || !shown.Set && given.Set:
		return given
	case set && !shown.Set:
		if len(o.faults[o.path+name+".id"]) == 0 {
			o.fault(name+".id", "is required")
		}
		return given
	case given.Set && shown != given:
		o.fault(name+"_id", "must be the same as "+name+".id where both are sent")
		return given
	}
	return shown
}

// ignore takes fields that responses show and requests cannot change.
func (o *object) ignore(names ...string) {
	for _, name := range names {
		delete(o.fields, name)
	}
}

// refuseRest notes every field that nobody took.
func (o *object) refuseRest() {
	for name := range o.fields {
		o.fault(name, "is not a known field")
	}
}

// parseText reads a JSON string that PostgreSQL can store. encoding/json would
// turn half of a surrogate pair into U+FFFD: it is refused instead.
func parseText(raw json.RawMessage) (string, string) {
	switch {
	case raw[0] != '"':
		return "", "must be a string"
	case loneSurrogate(raw):
		return "", "must not contain half of a surrogate pair"
	}
	text := unquote(raw)
	return text, unstorable(text)
}

// parseMoment reads a JSON string that is a time with an offset.
func parseMoment(raw json.RawMessage) (time.Time, string) {
	text, fault := parseText(raw)
	at, valid := parseInstant(text)
	if fault != "" || !valid {
		return at, "must be a time of RFC 3339, such as 2026-03-01T09:30:00Z"
	}
	return at, ""
}

// unstorable says why a text cannot be stored, or "".
func unstorable(text string) string {
	switch {
	case !utf8.ValidString(text):
		return "must be valid UTF-8"
	case strings.ContainsRune(text, 0):
		return "must not contain NUL characters"
	}
	return ""
}

// loneSurrogate says whether a JSON string has a \u escape of half a pair.
func loneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		unit := escaped(raw[i:])
		switch {
		case unit < 0:
			i++ // the escape of one character
		case unit >= 0xD800 && unit < 0xDC00:
			if low := escaped(raw[i+6:]); low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 11
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return true
		default:
			i += 5
		}
	}
	return false
}

// escaped returns the UTF-16 unit of a \u escape at the start of raw, or -1.
func escaped(raw []byte) int64 {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int64(unit)
}

const beyond64 = "must be between -9223372036854775808 and 9223372036854775807"

// number is the JSON grammar with a bound on the exponent: a number of a million
// digits would cost more than its request.
var number = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$`)

// parseWhole reads a JSON number without a fraction: 5, 5.0 and 5e0 are the same.
func parseWhole(raw json.RawMessage) (int64, string) {
	text := string(raw)
	if text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return 0, "must be an integer"
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, ""
	}
	if len(text) > 400 || !number.MatchString(text) {
		return 0, beyond64
	}
	d, err := decimal.NewFromString(text)
	switch {
	case err != nil || !d.IsInteger():
		return 0, "must be an integer"
	case d.GreaterThan(decimal.NewFromInt(math.MaxInt64)) || d.LessThan(decimal.NewFromInt(math.MinInt64)):
		return 0, beyond64
	}
	return d.IntPart(), ""
}

// parseMoney reads a JSON number or a decimal string, from its literal text.
func parseMoney(raw json.RawMessage) (money.Cents, string) {
	text := string(raw)
	if text[0] == '"' {
		var fault string
		if text, fault = parseText(raw); fault != "" {
			return 0, money.ErrSyntax.Error()
		}
	}
	cents, err := money.Parse(text)
	if err != nil {
		return 0, err.Error()
	}
	return cents, ""
}
