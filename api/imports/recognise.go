package imports

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/storeroom/storeroom/api/imports/table"
)

const (
	maxSheets     = 50 // of a workbook that are read
	maxColumnName = 200
	maxTables     = 100 // of an import, also in archives
)

// recognise reads the header of a file. Of a workbook, it chooses the sheet with the most known columns, and returns
// the other ones that have rows.
func (s *source) recognise(ctx context.Context, mapping map[string]string) (others []*source, err error) {
	best, bestFile := 0, *s
	var used []string
	release, err := s.table.Hold(ctx)
	if err != nil {
		return nil, s.readError(0, err)
	}
	defer release()
	sheets := s.table.Sheets()
	for _, sheet := range append([]string{""}, sheets[:min(maxSheets, len(sheets))]...) {
		if sheet == "" && s.table.Sheets() != nil {
			continue
		}
		candidate := *s
		copied := *s.table
		copied.Sheet, candidate.Sheet, candidate.table = sheet, sheet, &copied
		score, err := candidate.recogniseSheet(ctx, mapping)
		if err != nil {
			return nil, err
		}
		if score > 0 {
			used = append(used, sheet)
		}
		if score > best || sheet == "" {
			best, bestFile = score, candidate
		}
	}
	*s = bestFile
	if best == 0 && s.Problem == "" {
		s.Problem = "has no header and no rows"
	}
	notRead := func(sheet, problem string) {
		others = append(others, &source{File: File{Name: s.Name, Size: s.Size, Sheet: sheet, Problem: problem}})
	}
	for _, sheet := range used {
		if sheet != s.Sheet {
			notRead(sheet, "is another sheet of the workbook. To import it, save it as a file of its own")
		}
	}
	if len(sheets) > maxSheets {
		notRead("", fmt.Sprintf("has more than %d sheets. Save the others as files of their own", maxSheets))
	}
	return others, nil
}

// recogniseSheet finds the header in the first rows. It returns how many columns it knows, at least 1 if there is a
// header at all.
func (s *source) recogniseSheet(ctx context.Context, mapping map[string]string) (score int, err error) {
	rows, err := s.table.Open(ctx)
	if err != nil {
		return 0, s.readError(0, err)
	}
	defer rows.Close()
	best := s
	for i := range headerRows {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) && i == 0 && formatOf(ownFiles, base(s.Name)) != nil && len(s.table.Sheets()) < 2 {
			return 0, fmt.Errorf("%s is empty: expected column names in the first row", s.Name)
		}
		if err != nil && !errors.Is(err, io.EOF) && score == 0 {
			return 0, s.readError(0, err)
		}
		if err != nil {
			break // the scan reports it
		}
		candidate := new(*s)
		candidate.skip = i + 1
		if row.Problem != "" {
			row.Cells = nil
		}
		for _, name := range row.Cells {
			candidate.Header = append(candidate.Header, strings.Clone(shorten(strings.TrimSpace(clean(name)), maxColumnName)))
		}
		for len(candidate.Header) > 0 && candidate.Header[len(candidate.Header)-1] == "" {
			candidate.Header = candidate.Header[:len(candidate.Header)-1]
		}
		candidate.types = make([]columnType, len(candidate.Header)) // also of a header that is not recognised
		n, err := candidate.recogniseHeader(row, i == 0, mapping)
		if err != nil {
			return 0, err
		}
		if n > score {
			score, best = n, candidate
		}
		if best.format != nil {
			break
		}
	}
	*s = *best
	return score, nil
}

// recogniseHeader decides what a row is as a header.
func (s *source) recogniseHeader(row table.Row, first bool, mapping map[string]string) (score int, err error) {
	if mapping != nil {
		return s.applyMapping(mapping), nil
	}
	if f, l, score := s.recogniseFormat(); f != nil {
		s.use(f, func(column string) (target, string) { return l.target(column, table.Normal(column), s.currency) })
		s.Problem = f.description.Refuse
		return score, nil
	}
	if first {
		s.useOwnTexts()
		own, err := s.recogniseOwn(row)
		if err != nil || own {
			return len(s.own), err
		}
	}
	return s.propose(), nil
}

// use sets the format and its columns. Of the columns of our own files with the same name, the first one counts, and so
// it does of those of a field with one name.
func (s *source) use(f *format, targetOf func(string) (target, string)) {
	s.table.Microseconds = f.isExact
	s.format, s.types = f, make([]columnType, len(s.Header))
	s.own, s.columns = map[string]int{}, [numFields][]fieldColumn{}
	for i, name := range s.Header {
		if kind, known := f.columns[name]; known {
			if _, exists := s.own[name]; !exists {
				s.own[name], s.types[i] = i, kind
				continue
			}
		}
		to, captured := targetOf(name)
		isSame := func(c fieldColumn) bool { return c.rank == to.rank && c.captured == captured }
		switch columns := &s.columns[to.field]; {
		case name == "":
		case to.field == noField || slices.ContainsFunc(*columns, isSame):
			s.Unused = append(s.Unused, name)
		default:
			*columns, s.types[i] = append(*columns, fieldColumn{i, to.rank, captured}), fields[to.field].kind
		}
	}
	for _, columns := range s.columns {
		slices.SortStableFunc(columns, func(a, b fieldColumn) int { return a.rank - b.rank })
	}
}

// recogniseFormat returns the format whose description has the most columns of a header, and its language.
func (s *source) recogniseFormat() (best *format, language *dialect, score int) {
	names := map[string][]string{}
	for _, column := range s.Header {
		normal := table.Normal(column)
		names[normal] = append(names[normal], column)
	}
	for _, f := range formats() {
		for i := range f.description.dialects {
			l := &f.description.dialects[i]
			if n := f.description.recognise(l, names, s.currency); n > score && len(l.required) > 0 {
				best, language, score = f, l, n
			}
		}
	}
	return best, language, score
}
