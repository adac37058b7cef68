package table

import (
	"encoding/xml"
	"errors"
	"fmt"
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
func feedNames(text io.Reader) ([]string, error) {
	f := newFeed(text)
	for {
		switch _, err := f.next(); {
		case errors.Is(err, io.EOF) && len(f.names) == 0:
			return nil, errors.New("it has no items")
		case errors.Is(err, io.EOF):
			return f.names, nil
		case err != nil:
			return nil, err
		}
	}
}

// next returns the next row. The values of an element that an item has several times are lines of its cell.
func (f *feedReader) next() (Row, error) {
	if f.first {
		f.first = false
		return Row{Line: 1, Cells: slices.Clone(f.names)}, nil
	}
	f.limit.N = maxRowXML
	row := Row{Cells: make([]string, len(f.names))}
	depth, name, size := 0, "", 0 // depth is 1 in an item, and 2 in one of its elements
	var text strings.Builder
	for {
		token, err := f.tokens.RawToken()
		switch {
		case f.limit.N <= 0, errors.Is(err, errElementTooLong), size > maxRowBytes:
			return row, errRowTooLong
		case errors.Is(err, io.EOF) && depth > 0:
			return row, io.ErrUnexpectedEOF
		case err != nil:
			return row, err
		}
		switch e := token.(type) {
		case xml.StartElement:
			if depth == 0 && e.Name.Local != "item" && e.Name.Local != "entry" {
				f.limit.N = maxRowXML
				continue
			}
			if depth++; depth == 1 {
				row.Line, _ = f.tokens.InputPos()
			} else if depth == 2 {
				name = e.Name.Local
			}
		case xml.CharData:
			if depth > 1 {
				size += len(e)
				text.Write(e)
			}
		case xml.EndElement:
			if depth == 2 {
				if err := f.add(&row, name, strings.TrimSpace(text.String())); err != nil {
					return row, err
				}
				text.Reset()
			}
			if depth--; depth == 0 {
				return row, nil
			}
			depth = max(0, depth)
		}
	}
}

// add adds the value of an element. Some feeds have an element twice, with and without a namespace.
func (f *feedReader) add(row *Row, name, value string) error {
	at := slices.Index(f.names, name)
	if at < 0 {
		if at = len(f.names); at == maxColumns {
			return errTooManyColumns
		}
		f.names, row.Cells = append(f.names, name), append(row.Cells, "")
	}
	switch cell := &row.Cells[at]; {
	case *cell == "":
		*cell = value
	case value != "" && !slices.Contains(strings.Split(*cell, "\n"), value):
		*cell = fmt.Sprintf("%s\n%s", *cell, value)
	}
	return nil
}
