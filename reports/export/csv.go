package export

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/tenancy/money"
)

// CSV writes the header and the rows of a sheet. It writes nothing before the first row
// arrives, so that the caller can still report an earlier error.
func CSV(to io.Writer, s Sheet) error {
	header := strings.Join(s.columns, ",") + "\r\n"
	row := []byte(header)
	err := s.rows(func(cells []cell) error {
		for i, c := range cells {
			if i > 0 {
				row = append(row, ',')
			}
			row = appendCSV(row, c)
		}
		_, err := to.Write(append(row, "\r\n"...))
		header, row = "", row[:0]
		return err
	})
	if err == nil {
		_, err = io.WriteString(to, header) // a report without rows
	}
	return err
}

func appendCSV(row []byte, c cell) []byte {
	switch c.kind {
	case text:
		return appendQuoted(row, Guard(c.string))
	case day, long:
		return append(row, c.string...)
	case id, count:
		return strconv.AppendInt(row, c.number, 10)
	case amount, percent:
		return money.Cents(c.number).Append(row)
	case moment:
		return time.UnixMicro(c.number).UTC().AppendFormat(row, "2006-01-02T15:04:05.000000Z")
	}
	return row
}

// appendQuoted appends a cell to a row, and quotes it if necessary: RFC 4180. encoding/csv would change line breaks.
func appendQuoted(row []byte, cell string) []byte {
	if !strings.ContainsAny(cell, "\",\r\n") && strings.TrimSpace(cell) == cell {
		return append(row, cell...)
	}
	row = append(row, '"')
	row = append(row, strings.ReplaceAll(cell, `"`, `""`)...)
	return append(row, '"')
}
