package api

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// These bounds keep the cost of a body proportional to its size.
const (
	maxFields   = 200  // of an object
	maxElements = 1000 // of an array, unless its field says otherwise
	maxErrors   = 50   // reported for one array, and for the unknown fields of one object
	maxJSONName = 2000 // bytes of a field name that is kept, with escapes
	maxName     = 200  // bytes of an unknown name in an error
)

// object is a JSON object whose fields are taken out one by one; a field that remains
// is unknown. A response reports the validation errors of all fields together, so
// methods collect errors instead of returning them, and an invalid field counts as absent.
type object struct {
	path   string // prefix of field names in errors, such as "items[3]."
	fields map[string]json.RawMessage
	errs   tenancy.InvalidError // shared by all objects of a body
}

// newObject splits raw, which must be valid JSON. A duplicate name is an error, because
// one of its values would be ignored silently.
func newObject(raw []byte, path string, errs tenancy.InvalidError) (*object, error) {
	elements, ok := newScanner(raw, '{')
	if !ok {
		return nil, errors.New("found another JSON value")
	}
	fields := map[string]json.RawMessage{}
	for literal := elements.next(); literal != nil; literal = elements.next() {
		if len(fields) == maxFields {
			return nil, fmt.Errorf("%san object has more than %d fields", path, maxFields)
		}
		name := fieldName(literal)
		if _, duplicate := fields[name]; duplicate {
			return nil, fmt.Errorf("duplicate field %s%s", path, cut(name, maxName))
		}
		fields[name] = elements.next()
	}
	return &object{path, fields, errs}, nil
}

// fieldName returns the name that a JSON string contains. A long name is cut to save memory, and ends with a digest, so
// that names with the same start differ. It never equals a known name, because no JSON string contains the byte FF.
func fieldName(literal json.RawMessage) string {
	if len(literal) <= len(`""`)+maxJSONName {
		return unquote(literal)
	}
	beginning := func(n int) []byte { return append(literal[:n:n], '"') }
	n := maxJSONName
	for !json.Valid(beginning(n)) { // it ends within an escape
		n--
	}
	digest := sha256.Sum256(literal)
	return unquote(beginning(n)) + "\xff" + string(digest[:])
}

// take removes a field and returns its value.
func (o *object) take(name string) (value json.RawMessage, set, null bool) {
	value, set = o.fields[name]
	delete(o.fields, name)
	return value, set, string(value) == "null"
}

func (o *object) addError(name, message string) { o.errs.Add(o.path+name, "%s", message) }

// parser reads the JSON value of a field. The text of its error is the validation error.
type parser[T any] func(json.RawMessage) (T, error)

// field takes a field that may be absent or null.
func field[T any](o *object, name string, parse parser[T]) catalog.Field[T] {
	raw, set, null := o.take(name)
	if !set || null {
		return catalog.Field[T]{Set: set, Null: null}
	}
	value, err := parse(raw)
	if err != nil {
		o.addError(name, err.Error())
		return catalog.Field[T]{}
	}
	return catalog.Value(value)
}

// required takes a field that must be present and not null.
func required[T any](o *object, name string, parse parser[T]) T {
	if raw, set := o.fields[name]; !set || string(raw) == "null" {
		o.addError(name, "is required")
	}
	return field(o, name, parse).Value
}

// optional takes a field; nil means absent, null or invalid.
func optional[T any](o *object, name string, parse parser[T]) *T {
	f := field(o, name, parse)
	if !f.Set || f.Null {
		return nil
	}
	return &f.Value
}

func (o *object) text(name string) catalog.Field[string]       { return field(o, name, parseText) }
func (o *object) integer(name string) catalog.Field[int64]     { return field(o, name, parseInteger) }
func (o *object) money(name string) catalog.Field[money.Cents] { return field(o, name, parseMoney) }

// texts takes an array of strings.
func (o *object) texts(name string) catalog.Field[[]string] {
	return field(o, name, arrayOf(o, name, maxElements, "an array of strings", parseElementText))
}

// parseElementText returns a valid text with an error: an empty text would get a second error from the check of the
// field.
func parseElementText(raw json.RawMessage) (string, error) {
	text, err := parseText(raw)
	if err != nil {
		return "invalid", err
	}
	return text, nil
}

// arrayOf returns a parser of an array of at most limit elements. It records the error of an
// element under the element's path, such as tags[2].
func arrayOf[T any](o *object, name string, limit int, kind string, parse parser[T]) parser[[]T] {
	return func(raw json.RawMessage) ([]T, error) {
		elements, err := splitArray(raw, limit, kind)
		if err != nil {
			return nil, err
		}
		values := make([]T, len(elements))
		err = o.eachElement(name, elements, func(i int, path string) {
			var invalid error
			if values[i], invalid = parse(elements[i]); invalid != nil {
				o.addError(path, invalid.Error())
			}
		})
		return values, err
	}
}

// eachElement calls parse for each element of an array until maxErrors elements are invalid.
func (o *object) eachElement(name string, elements []json.RawMessage, parse func(i int, path string)) error {
	invalid := 0
	for i := range elements {
		before := len(o.errs)
		parse(i, fmt.Sprintf("%s[%d]", name, i))
		if len(o.errs) == before {
			continue
		}
		if invalid++; invalid == maxErrors {
			return fmt.Errorf("has at least %d invalid elements", maxErrors)
		}
	}
	return nil
}

// splitArray returns the elements of an array that has at most limit.
func splitArray(raw json.RawMessage, limit int, kind string) ([]json.RawMessage, error) {
	array, ok := newScanner(raw, '[')
	if !ok {
		return nil, errors.New("must be " + kind)
	}
	elements := []json.RawMessage{}
	for element := array.next(); element != nil; element = array.next() {
		if len(elements) == limit {
			return nil, fmt.Errorf("must have at most %d elements", limit)
		}
		elements = append(elements, element)
	}
	return elements, nil
}

// nested returns the object in field name of o.
func (o *object) nested(name string, raw json.RawMessage) (*object, error) {
	inner, err := newObject(raw, o.path+name+".", o.errs)
	if err != nil {
		return nil, fmt.Errorf("must be a JSON object: %w", err)
	}
	return inner, nil
}

// reference takes `<name>_id`, or the id in the object `<name>` that responses contain
// instead. If both are present, they must agree.
func (o *object) reference(name string) catalog.Field[int64] {
	id := o.integer(name + "_id")
	_, invalid := o.errs[o.path+name+"_id"]
	raw, set, null := o.take(name)
	if !set {
		return id
	}
	objectID := catalog.Field[int64]{Set: true, Null: null}
	if !null {
		nested, err := o.nested(name, raw)
		if err != nil {
			o.addError(name, "must be an object with an id")
			return id
		}
		objectID.Value = required(nested, "id", parseInteger)
		invalid = invalid || len(o.errs[o.path+name+".id"]) > 0
	}
	switch {
	case invalid:
		return id
	case id.Set && objectID != id:
		o.addError(name+"_id", "must equal "+name+".id")
		return id
	}
	return objectID
}

// ignore removes fields that responses contain and requests cannot change.
func (o *object) ignore(names ...string) {
	for _, name := range names {
		delete(o.fields, name)
	}
}

// rejectUnknown adds an error for every field that was not taken.
func (o *object) rejectUnknown() {
	names := slices.Sorted(maps.Keys(o.fields))
	for _, name := range names[:min(len(names), maxErrors)] {
		o.addError(cut(name, maxName), "is not a known field")
	}
}
