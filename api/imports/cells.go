package imports

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
)

// cells is one row of a source. Errors are added to invalid, with the path before the field.
type cells struct {
	*source
	line    int
	cells   []string
	invalid tenancy.InvalidError
	path    string
}

func (s *source) cellsOf(row table.Row) cells {
	return cells{source: s, line: row.Line, cells: row.Cells, invalid: tenancy.InvalidError{}}
}

func (c cells) row() changeplan.FileRow {
	return changeplan.FileRow{File: c.Name, Line: c.line, Cells: c.cells}
}

// newRecord returns a record of the row, with its errors.
func (c cells) newRecord(kind Kind, key string) Record {
	return Record{Row: changeplan.Row{Kind: kind, Key: key, Rows: rowsOf([]cells{c}), Invalid: c.invalid}}
}

// ignored returns a record of the row that is not imported.
func (c cells) ignored(kind Kind, key, reason string) []Record {
	return []Record{{Row: changeplan.Row{Kind: kind, Key: key, Rows: rowsOf([]cells{c}), Ignored: reason}}}
}

// in returns the cells with errors for a part of a record, such as an item.
func (c cells) in(invalid tenancy.InvalidError, path string) cells {
	c.invalid, c.path = invalid, path
	return c
}

// fieldColumn is a column of a field, and the text that stands for the placeholder in its name.
type fieldColumn struct {
	at, rank int
	captured string
}

// has reports whether the file has a column of a field.
func (c cells) has(f field) bool { return len(c.columns[f]) > 0 }

// at returns the column of a field: the first one that is not empty, or the most important one. It returns -1 if the
// file has none.
func (c cells) at(f field) int {
	columns := c.columns[f]
	if len(columns) == 0 {
		return -1
	}
	for _, column := range columns[:len(columns)-1] {
		if strings.TrimSpace(c.cells[column.at]) != "" {
			return column.at
		}
	}
	last := columns[len(columns)-1].at
	if len(columns) == 1 || strings.TrimSpace(c.cells[last]) != "" {
		return last
	}
	return columns[0].at
}

// raw returns a cell as it is in the file, or "" if the file does not have the field.
func (c cells) raw(f field) string {
	if i := c.at(f); i >= 0 {
		return c.cells[i]
	}
	return ""
}

// text returns a trimmed cell without the apostrophe that protects it in spreadsheets. Before a digit, it does so only
// in columns of codes, amounts and times: a title can be '90s.
func (c cells) text(f field) string {
	if len(c.columns[f]) == 0 {
		return ""
	}
	if fields[f].isCode || fields[f].kind != textColumn {
		return plainText(c.raw(f))
	}
	return withoutApostrophe(strings.TrimSpace(c.raw(f)), "=+-@")
}

func plainText(cell string) string {
	return withoutApostrophe(strings.TrimSpace(cell), "0123456789=+-@#")
}

func withoutApostrophe(cell, before string) string {
	if len(cell) > 1 && cell[0] == '\'' && strings.IndexByte(before, cell[1]) >= 0 {
		return cell[1:]
	}
	return cell
}

// code returns the code in a field. One that a spreadsheet has rounded is refused, because others became the same.
func (c cells) code(f field, path string) string {
	code := c.text(f)
	if table.HasLostDigits(code) {
		c.refuse(path, "%v", table.ErrLostDigits)
	}
	return code
}

// first returns the first of the fields that is not empty.
func (c cells) first(fields ...field) string {
	for _, f := range fields {
		if cell := c.text(f); cell != "" {
			return cell
		}
	}
	return ""
}

// columnName returns the name of the column of a field in the file, or in the description if the file has none.
func (c cells) columnName(f field) string {
	if i := c.at(f); i >= 0 {
		return c.Header[i]
	}
	return c.description.titles[f]
}

// word returns the meaning of the word in a field, and whether the description has one.
func (c cells) word(f field) (meaning string, known bool) {
	meaning, known = c.description.Values[f][strings.ToLower(c.text(f))]
	return meaning, known
}

func (c cells) refuse(field, problem string, args ...any) {
	c.invalid.Add(c.path+field, problem, args...)
}

// checkCurrency refuses a row in another currency than the tenant's.
func (c cells) checkCurrency() {
	if c.isOtherCurrency() {
		c.invalid.Add("currency", "is %s, but amounts here are in %s", strings.ToUpper(c.text(fCurrency)), c.currency)
	}
}

func (c cells) isOtherCurrency() bool {
	code := c.text(fCurrency)
	return code != "" && !strings.EqualFold(code, c.currency)
}

// form returns how the values of a field are written.
func (c cells) form(f field) table.Form {
	if i := c.at(f); i >= 0 {
		return c.forms[i]
	}
	return table.Form{}
}

// textAt returns the trimmed cell of a column without the apostrophe before it, or "" of the column -1.
func (c cells) textAt(i int) string {
	if i < 0 {
		return ""
	}
	return plainText(c.cells[i])
}

// cents returns an amount, which may be negative, or 0 if the cell is empty.
func (c cells) cents(f field, path string) int64 {
	if path == "" && c.isPlainSale() {
		path = f.String()
	}
	return c.centsAt(c.at(f), path)
}

// centsAt is cents of a column. An error has the name of the column if the path is empty.
func (c cells) centsAt(i int, path string) int64 {
	cell := c.textAt(i)
	if cell == "" {
		return 0
	}
	cents, err := c.forms[i].Cents(cell)
	if path == "" && (err != nil || table.Currencies(cell) != nil) {
		path = strings.ToLower(c.Header[i])
	}
	if err != nil {
		c.refuse(path, "%v", err)
	}
	if of := table.Currencies(cell); of != nil && !slices.Contains(of, c.currency) {
		c.refuse(path, "is in %s, but amounts here are in %s", of[0], c.currency)
	}
	return cents
}

// money returns an amount, or nil if the cell is empty. A negative amount is refused.
func (c cells) money(f field, path string) *money.Cents { return c.moneyAt(c.at(f), path) }

func (c cells) moneyAt(i int, path string) *money.Cents {
	if c.textAt(i) == "" {
		return nil
	}
	cents := c.centsAt(i, path)
	if cents < 0 {
		c.refuse(path, "%v", money.ErrRange)
		cents = 0
	}
	return new(money.Cents(cents))
}

// time returns a time, or the zero value if the cell is empty.
func (c cells) time(f field, path string) time.Time { return c.readTime(c.form(f), c.text(f), path) }

// readTime reads a time as a column has it. It returns the zero value for "".
func (c cells) readTime(form table.Form, text, path string) (at time.Time) {
	if text == "" {
		return at
	}
	zone, known := c.rowZone()
	if !known {
		c.refuse(path, "is in an unknown time zone, %q", c.text(fZone))
	}
	at, err := form.Time(text, zone)
	if err != nil {
		c.refuse(path, "%v", err)
	}
	return at
}

// optional returns nil for an empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// orZero returns the zero value for nil.
func orZero[T any](value *T) T {
	if value == nil {
		return *new(T)
	}
	return *value
}

// clean returns a text that can be stored as JSON.
func clean(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD")
}

// shorten cuts a text to a number of characters.
func shorten(text string, length int) string {
	n := 0
	for i := range text {
		if n == length {
			return text[:i]
		}
		n++
	}
	return text
}

// textField returns a field of a product, which is not set if the cell is empty.
func textField(text string) catalog.Field[string] {
	if text == "" {
		return catalog.Field[string]{}
	}
	return catalog.Value(text)
}

func (c cells) moneyField(f field, path string) catalog.Field[money.Cents] {
	if amount := c.money(f, path); amount != nil {
		return catalog.Value(*amount)
	}
	return catalog.Field[money.Cents]{}
}

// integer returns a number without a fraction. ok is false if the cell is empty or not such a number; the latter is an
// error.
func (c cells) integer(f field, path string) (n int64, ok bool) { return c.integerAt(c.at(f), path) }

func (c cells) integerAt(i int, path string) (n int64, ok bool) {
	cell := c.textAt(i)
	if cell == "" {
		return 0, false
	}
	cents, err := c.forms[i].Cents(cell)
	if err != nil || cents%100 != 0 {
		c.refuse(path, "%q must be a whole number", cell)
		return 0, false
	}
	return cents / 100, true
}

// stockField returns a quantity in stock. It is not set if negative, which some systems allow.
func (c cells) stockField(i int, path string, notes *[]Note) catalog.Field[int64] {
	n, ok := c.integerAt(i, path)
	if n < 0 {
		*notes = append(*notes, Note{Text: "the quantity in stock is negative and was not imported"})
	}
	if !ok || n < 0 {
		return catalog.Field[int64]{}
	}
	return catalog.Value(n)
}

// splitTags splits a list at separators.
func splitTags(text, separators string) catalog.Field[[]string] {
	var tags []string
	isSeparator := func(char rune) bool { return strings.ContainsRune(separators, char) }
	for tag := range strings.FieldsFuncSeq(text, isSeparator) {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	if tags == nil {
		return catalog.Field[[]string]{}
	}
	return catalog.Value(tags)
}

// betweenImages is what separates URLs of images. A URL may have blanks and commas itself.
var betweenImages = regexp.MustCompile(`(?i)[\s,;|]+(https?://)`)

// splitImages splits a list of the URLs of images.
func splitImages(text string) []string {
	return strings.Split(betweenImages.ReplaceAllString(text, "\n$1"), "\n")
}

// imageURLs returns the URLs of images that another system has. Those that cannot be stored are left out with a note.
// It is not set if there are none.
func imageURLs(texts []string, notes *[]Note) catalog.Field[[]string] {
	var urls []string
	for _, text := range texts {
		text = strings.Trim(text, " \t\r\n,;|")
		address, problem := catalog.CheckImageURL(text)
		switch {
		case text == "", slices.Contains(urls, address):
		case problem != "":
			*notes = append(*notes, Note{Text: "an image has no valid URL and was not imported"})
		default:
			urls = append(urls, address)
		}
	}
	return firstImages(urls, notes)
}

// firstImages returns as many URLs as a product may have. It is not set if there are none.
func firstImages(urls []string, notes *[]Note) catalog.Field[[]string] {
	if len(urls) > catalog.MaxImages {
		*notes = append(*notes, Note{
			Text: fmt.Sprintf("has more than %d images, of which the first %[1]d were imported", catalog.MaxImages),
		})
		urls = urls[:catalog.MaxImages]
	}
	if len(urls) == 0 {
		return catalog.Field[[]string]{}
	}
	return catalog.Value(urls)
}

// isYes and isNo report what a word means that says yes or no, or that something is active or a draft.
func (c cells) isYes(f field) bool { return statusOf(c.text(f)) == "active" }
func (c cells) isNo(f field) bool  { return statusOf(c.text(f)) == "draft" }

// statusOf returns the status of a product that a word means in most systems, or "".
func statusOf(word string) string { return statusWords()[strings.ToLower(word)] }

var statusWords = sync.OnceValue(func() map[string]string {
	d, _ := readDescription("spreadsheet_products") // a test reads all
	return d.Values[fStatus]
})
