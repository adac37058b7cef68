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
	limit  *io.LimitedReader // of the next item
	tokens *xml.Decoder
	names  []string // of the columns so far
	first  bool     // the next row has the names
}

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
	for {
		f.limit.N = maxRowXML
		token, err := f.tokens.Token()
		line, _ := f.tokens.InputPos()
		start, isElement := token.(xml.StartElement)
		var item struct {
			Elements []struct {
				XMLName xml.Name
				Text    string `xml:",chardata"`
			} `xml:",any"`
		}
		switch {
		case err == nil && (!isElement || start.Name.Local != "item" && start.Name.Local != "entry"):
			continue
		case err == nil:
			err = f.tokens.DecodeElement(&item, &start)
		}
		if f.limit.N <= 0 || errors.Is(err, errElementTooLong) {
			return Row{}, errRowTooLong
		}
		row := Row{Line: line, Cells: make([]string, len(f.names))}
		for _, e := range item.Elements {
			switch {
			case !f.add(&row, e.XMLName.Local, strings.TrimSpace(e.Text)):
				return Row{}, errRowTooLong
			case len(f.names) > maxColumns:
				return Row{}, errTooManyColumns
			}
		}
		return row, err
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
