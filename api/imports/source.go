package imports

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/shopspring/decimal"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/api/pages/words"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/limits"
)

const (
	maxRows     = 5_000_000
	headerRows  = 30        // the header is one of them
	maxOrderIDs = 2_000_000 // orders for which adjacent rows are detected, about 20 bytes each
	numExamples = 3
)

// source is one recognised file.
type source struct {
	File
	*format
	table    *table.File
	skip     int                      // rows up to the header
	own      map[string]int           // columns of our own files by name
	columns  [numFields][]fieldColumn // of other files by field
	types    []columnType             // by column
	forms    []table.Form             // by column
	zone     *time.Location
	currency string                    // of the tenant
	zones    map[string]*time.Location // by name, of rows that have one
	bytes    int64                     // of all cells
	together bool                      // the rows of each order are
	reason   string                    // why the columns are not those of products or orders
	seen     evidence
}

// open returns the rows after the header.
func (s *source) open() (*sourceRows, error) {
	rows, err := s.table.Open()
	if err != nil {
		return nil, s.readError(0, err)
	}
	r := &sourceRows{source: s, rows: rows}
	for range s.skip {
		row, err := rows.Next()
		if err != nil {
			return nil, errors.Join(r.readError(r.line, err), rows.Close())
		}
		r.line = row.Line
	}
	return r, nil
}

// all yields the rows after the header. An error is the last element.
func (s *source) all(ctx context.Context) iter.Seq2[table.Row, error] {
	return func(yield func(table.Row, error) bool) {
		rows, err := s.open()
		if err != nil {
			yield(table.Row{}, err)
			return
		}
		defer rows.rows.Close()
		for {
			row, err := rows.next(ctx)
			if errors.Is(err, io.EOF) || !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func (s *source) readError(line int, err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("%s after line %d: %w", s.Name, line, err)
}

// sourceRows are the rows of an open source.
type sourceRows struct {
	*source
	rows  *table.Rows
	line  int
	n     int
	last  string   // the number of the last order
	first []string // the cells of its first row
}

// next returns the next row with as many cells as the header. Rows without a value are skipped, except in our own CSV
// files.
func (r *sourceRows) next(ctx context.Context) (table.Row, error) {
	for {
		if err := context.Cause(ctx); err != nil {
			return table.Row{}, fmt.Errorf("stopped after line %d of %s: %w", r.line, r.Name, err)
		}
		release, err := limits.FromContext(ctx).Take(ctx, limits.CPU, 1)
		if err != nil {
			return table.Row{}, err
		}
		row, err := r.rows.Next()
		release()
		if err != nil {
			return row, r.readError(r.line, err)
		}
		r.line = row.Line
		if r.n++; r.n > maxRows {
			return row, fmt.Errorf("%s has more than %d rows", r.Name, maxRows)
		}
		strict := r.isExact && r.rows.Delimiter != 0
		if row.IsEmpty() && !strict {
			continue
		}
		if row.Problem == "" {
			r.fit(&row, strict)
		}
		if row.Problem == "" && row.Numeric != nil {
			r.convertNumbers(row)
			r.checkSheet(&row)
		}
		if hasReasons(r.Header) && !r.isExact {
			for i, cell := range row.Cells {
				row.Cells[i] = export.Unguard(cell)
			}
		}
		if row.Problem == "" && r.isPlainSale() {
			r.carryNumber(row.Cells)
		}
		if row.Problem == "" && r.description != nil && r.description.Products.GroupAbove {
			group := &row.Cells[r.columns[fGroup][0].at]
			if *group == "" {
				*group = r.last
			}
			r.last = *group
		}
		return row, nil
	}
}

// fit changes a row to the length of the header, because spreadsheets leave out or add empty cells at the end.
func (r *sourceRows) fit(row *table.Row, strict bool) {
	want, got := len(r.Header), len(row.Cells)
	for !strict && got > want && row.Cells[got-1] == "" {
		got--
	}
	if got > want || got < want && strict {
		row.Problem = fmt.Sprintf("the number of fields is %d, but the header has %d", got, want)
		return
	}
	row.Cells = row.Cells[:got]
	for len(row.Cells) < want {
		row.Cells = append(row.Cells, "")
	}
}

// checkSheet refuses a row of one of our workbooks with a text that may be cut, or may have the apostrophe of a CSV file
// that was opened in a spreadsheet. Our own workbooks have none.
func (r *sourceRows) checkSheet(row *table.Row) {
	if !r.isExact {
		return
	}
	isExport := strings.ToLower(strings.ReplaceAll(words.OwnSheet(r.Sheet), " ", "_")) == r.name && r.Sheet != r.name
	for i, cell := range row.Cells {
		switch {
		case len(cell) >= table.MaxCell-1 && len(utf16.Encode([]rune(cell))) >= table.MaxCell-1:
			row.Problem = fmt.Sprintf("the text in the column %s may be cut, because a cell of a workbook has at most %d "+
				"characters: import it from a CSV file", r.Header[i], table.MaxCell)
		case !isExport && !hasReasons(r.Header) && export.Unguard(cell) != cell:
			row.Problem = fmt.Sprintf("the text in the column %s has an apostrophe before a sign, which may come from a CSV "+
				"file: remove it, or import the CSV file", r.Header[i])
		}
	}
}

// convertNumbers gives the numbers of a sheet, which have a decimal point, a form that cannot be read as groups of
// digits. It writes the dates of our own sheets, which are in UTC, as in our CSV files.
func (r *sourceRows) convertNumbers(row table.Row) {
	for i := range min(len(row.Numeric), len(row.Cells)) {
		cell := &row.Cells[i]
		switch {
		case !row.Numeric[i]:
		case r.types[i] == timeColumn:
			at, err := time.Parse(time.DateTime, *cell)
			if err != nil {
				at, err = time.Parse(time.DateOnly, *cell)
			}
			if err == nil {
				*cell = at.Format(time.RFC3339Nano)
			}
		case r.types[i] == amountColumn && threeDigits.MatchString(*cell):
			*cell += "0" // 1.2340 is not 1234
		}
	}
}

var threeDigits = regexp.MustCompile(`\.\d{3}$`)

// isPlainSale reports whether the rows of orders have no known rules.
func (s *source) isPlainSale() bool { return s.description != nil && s.description.Sales.Plain }

// carryNumber sets the number of the order before in a row of an item that has none. A row with a name but neither a
// SKU nor a price can be a sum, and so can a row that is named like one. A row with its own day, customer, channel or
// currency is of another order: without its number, it is refused.
func (r *sourceRows) carryNumber(texts []string) {
	row, first := cells{source: r.source, cells: texts}, cells{source: r.source, cells: r.first}
	number := &texts[row.at(fNumber)]
	switch isItem := row.text(fSKU) != "" || row.text(fName) != "" && row.text(fPrice) != ""; {
	case *number != "" && *number != r.last:
		r.last, r.first = *number, texts
	case *number != "" || r.last == "" || !isItem || isSum(row.first(fSKU, fName)):
	case row.isOfSale(first):
		*number = r.last
	default:
		r.last = "" // nor do the rows below belong to the order above
	}
}

// isOfSale reports whether a row has no other day, customer, channel and currency than the first one of an order.
func (c cells) isOfSale(first cells) bool {
	at := table.WithoutClock(c.text(fPlacedAt))
	if at != "" && at != table.WithoutClock(first.text(fPlacedAt)) {
		return false
	}
	return !slices.ContainsFunc(append([]field{fChannel, fCurrency}, ofCustomer...), func(f field) bool {
		value := c.text(f)
		return value != "" && value != first.text(f)
	})
}

// scan reads all rows, to count them and to decide how numbers and dates are written.
func (s *source) scan(ctx context.Context) error {
	s.forms = make([]table.Form, len(s.Header))
	seed, seen, last := maphash.MakeSeed(), map[uint64]struct{}{}, uint64(0)
	examples, invalid := make([][]string, len(s.Header)), tenancy.InvalidError{}
	s.together = true
	for row, err := range s.all(ctx) {
		if err != nil {
			return err
		}
		s.Rows++
		if row.Problem != "" {
			continue
		}
		for i, kind := range s.types {
			switch kind {
			case amountColumn:
				s.forms[i].AddNumber(row.Cells[i])
			case dateColumn:
				s.forms[i].AddDate(row.Cells[i])
			}
		}
		if s.observe != nil {
			clear(invalid)
			c := cells{source: s, line: row.Line, cells: row.Cells, invalid: invalid}
			s.seen.rows.add(c)
			s.observe(s, c)
		}
		for i, cell := range row.Cells {
			s.bytes += int64(len(cell)) + 2
			if s.Examples != nil && len(examples[i]) < numExamples && cell != "" {
				examples[i] = addExample(examples[i], cell)
			}
		}
		if !s.isGrouped() || !s.together {
			continue
		}
		if hash := maphash.String(seed, s.orderKey(row.Cells)); hash != last {
			if _, exists := seen[hash]; exists || len(seen) == maxOrderIDs {
				s.together, seen = false, nil
				continue
			}
			last, seen[hash] = hash, struct{}{}
		}
	}
	s.seen.rows.end()
	for i, column := range s.Header {
		if len(examples[i]) > 0 && s.Examples[column] == nil {
			s.Examples[column] = examples[i]
		}
	}
	return nil
}

func addExample(examples []string, cell string) []string {
	if cell = clean(shorten(cell, 100)); slices.Contains(examples, cell) {
		return examples
	}
	return append(examples, strings.Clone(cell))
}

// decide sets the forms of columns, and returns the questions, also those that the settings answer.
func (s *source) decide(settings Settings) (questions []Question) {
	var separator byte
	if settings.Decimal != "" {
		separator = settings.Decimal[0]
	}
	var dates table.DateOrder
	if s.description != nil {
		dates = s.description.Dates
	}
	for i, column := range s.Header {
		question := Question{Column: column, Examples: s.forms[i].Examples()}
		form := s.forms[i] // without an answer
		s.forms[i].Number(separator)
		s.forms[i].Date(table.DateOrder(settings.DateOrder), dates)
		if form.Number(0) != "" {
			question.ID = "decimal"
			question.Readings = readingsOf("decimal", question.Examples, func(choice, text string) string {
				digits, _ := table.Form{Decimal: choice[0]}.Digits(text)
				return digits
			})
			questions = append(questions, question)
		}
		if form.Date("", dates) != "" {
			question.ID = "date_order"
			question.Readings = readingsOf("date_order", question.Examples, func(choice, text string) string {
				at, err := table.Form{Order: table.DateOrder(choice)}.Time(text, s.zone)
				if err != nil {
					return text
				}
				return at.Format("2 January 2006")
			})
			questions = append(questions, question)
		}
	}
	if s.description != nil {
		s.offerRounding(settings)
		questions = append(questions, s.ask()...)
	}
	return questions
}

// offerRounding counts amounts with more than two decimals, and rounds them if the settings say so. Quantities are never
// rounded.
func (s *source) offerRounding(settings Settings) {
	change := decimal.Zero
	for i := range s.forms {
		isNumber := func(c fieldColumn) bool { return c.at == i }
		count, examples, by := s.forms[i].Long()
		quantities := slices.Concat(s.columns[fQuantity], s.columns[fReorderPoint], s.columns[fStock])
		if count == 0 || slices.ContainsFunc(quantities, isNumber) {
			continue
		}
		if s.Rounding == nil {
			s.Rounding = &Rounding{}
		}
		s.Rounding.Count += count
		s.Rounding.Examples = append(s.Rounding.Examples, examples...)
		of, _ := decimal.NewFromString(by) // is a number
		change = change.Add(of)
		s.Rounding.Change = change.String()
		s.forms[i].Rounds = settings.Rounding == "round"
	}
	if s.Rounding != nil && settings.Rounding != "" {
		s.answered("rounding")
	}
}

// readingsOf returns what examples are with each answer to a question.
func readingsOf(id string, examples []string, read func(choice, example string) string) map[string][]string {
	readings := map[string][]string{}
	for _, choice := range Choices[id] {
		for _, example := range examples {
			readings[choice] = append(readings[choice], read(choice, example))
		}
	}
	return readings
}
