package table

import (
	"archive/zip"
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
)

const (
	maxSharedStrings = 4_000_000
	maxCachedBytes   = 8 << 20
)

// sharedStrings are the texts of a workbook, which its cells refer to by number. They are in a temporary file, because
// they can be as large as the workbook.
type sharedStrings struct {
	file   *TempFile
	ends   []int64 // of each text in the file
	cache  map[int]string
	cached int // bytes
}

// readSharedStrings reads the texts. The part is optional.
func readSharedStrings(
	ctx context.Context, archive *zip.Reader, space *Space, limit int64,
) (*sharedStrings, error) {
	part, err := openPart(archive, "xl/sharedStrings.xml")
	if errors.Is(err, errNoPart) {
		return &sharedStrings{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer part.Close()
	s := &sharedStrings{cache: map[int]string{}}
	if s.file, err = space.File(); err != nil {
		return nil, err
	}
	if err := s.read(contextReader{ctx, &unpackLimit{part, limit}}); err != nil {
		return nil, errors.Join(fmt.Errorf("texts of the workbook: %w", err), s.Close())
	}
	return s, nil
}

func (s *sharedStrings) read(part io.Reader) error {
	row := &io.LimitedReader{R: part, N: maxRowXML}
	tokens, out := newDecoder(row), bufio.NewWriterSize(s.file, 256<<10)
	var end int64
	for {
		row.N = maxRowXML
		token, err := tokens.RawToken()
		if errors.Is(err, io.EOF) && row.N > 0 {
			return out.Flush()
		}
		if err == nil {
			if e, ok := token.(xml.StartElement); !ok || e.Name.Local != "si" {
				continue
			}
			var text string
			if _, text, err = readText(tokens, "si"); err == nil {
				_, err = out.WriteString(text)
				end += int64(len(text))
			}
		}
		switch {
		case row.N <= 0, errors.Is(err, errElementTooLong):
			return errRowTooLong
		case err != nil:
			return err
		case len(s.ends) == maxSharedStrings:
			return errors.New("more than 4,000,000")
		}
		s.ends = append(s.ends, end)
	}
}

// text returns a text by its number.
func (s *sharedStrings) text(i int) (string, error) {
	if i < 0 || i >= len(s.ends) {
		return "", fmt.Errorf("the workbook has no text %d", i)
	}
	if text, cached := s.cache[i]; cached {
		return text, nil
	}
	start := int64(0)
	if i > 0 {
		start = s.ends[i-1]
	}
	bytes := make([]byte, s.ends[i]-start)
	if _, err := s.file.ReadAt(bytes, start); err != nil {
		return "", err
	}
	if s.cached += len(bytes) + 64; s.cached > maxCachedBytes {
		clear(s.cache)
		s.cached = len(bytes)
	}
	s.cache[i] = string(bytes)
	return s.cache[i], nil
}

// Close deletes the temporary file.
func (s *sharedStrings) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
