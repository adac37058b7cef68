package table

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
)

// feedReader reads a feed in XML, such as RSS and Atom: each item is a row, with its elements as columns.
type feedReader struct {
	limit  *io.LimitedReader // of the next item, and of what is before it
	tokens *xml.Decoder
	depth  int      // of open elements
	names  []string // of the columns so far
	first  bool     // the next row has the names
}

// maxDepth limits the elements that are open at a time, because the decoder keeps each.
const maxDepth = 100

var errTooDeep = errors.New("an element is in more than 100 others")

func newFeed(text io.Reader) *feedReader {
	limit := &io.LimitedReader{R: text, N: maxRowXML}
	return &feedReader{limit: limit, tokens: newDecoder(limit)}
}

// feedNames returns the names of the elements of all items.
func feedNames(text io.Reader) (names []string, err error) {
	f := newFeed(text)
	for err == nil {
		_, err = f.next()
	}
	switch {
	case !errors.Is(err, io.EOF):
		return nil, err
	case len(f.names) == 0:
		return nil, errors.New("it has no items")
	}
	return f.names, nil
}

// next returns the next row.
func (f *feedReader) next() (Row, error) {
	if f.first {
		f.first = false
		return Row{Line: 1, Cells: slices.Clone(f.names)}, nil
	}
	row, item, name, value := Row{}, 0, "", strings.Builder{} // item is the depth of the item, or 0 before it
	f.limit.N = maxRowXML
	for {
		token, err := f.tokens.Token()
		switch {
		case f.limit.N <= 0 || errors.Is(err, errElementTooLong):
			return Row{}, errRowTooLong
		case err != nil:
			return Row{}, err
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch f.depth++; {
			case f.depth > maxDepth:
				return Row{}, errTooDeep
			case item == 0 && (e.Name.Local == "item" || e.Name.Local == "entry"):
				item, row.Cells, f.limit.N = f.depth, make([]string, len(f.names)), maxRowXML
				row.Line, _ = f.tokens.InputPos()
			case item > 0 && f.depth == item+1:
				name = e.Name.Local
				value.Reset()
			}
		case xml.CharData:
			if item > 0 && f.depth == item+1 {
				_, _ = value.Write(e) // no error
			}
		case xml.EndElement:
			switch f.depth--; {
			case item == 0 || f.depth > item:
			case f.depth < item:
				return row, nil
			case !f.add(&row, name, strings.TrimSpace(value.String())):
				return Row{}, errRowTooLong
			case len(f.names) > maxColumns:
				return Row{}, errTooManyColumns
			}
		}
	}
}

// maxValues bounds how often an item has an element, because each one is compared with those before.
const maxValues = 100

// add adds the value of an element, and returns false if there are too many. Those of an element that an item has several
// times are lines; some feeds have the same one with and without a namespace.
func (f *feedReader) add(row *Row, name, value string) bool {
	at := slices.Index(f.names, name)
	if at < 0 {
		at, f.names, row.Cells = len(f.names), append(f.names, name), append(row.Cells, "")
	}
	switch cell := &row.Cells[at]; {
	case *cell == "":
		*cell = value
	case value != "" && !slices.Contains(strings.Split(*cell, "\n"), value):
		*cell += "\n" + value
		return strings.Count(*cell, "\n") < maxValues
	}
	return true
}
