package imports

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
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

// raw returns a cell as it is in the file, or "" if the file does not have the column.
func (c cells) raw(column string) string {
	i, exists := c.at[column]
	if !exists {
		return ""
	}
	return c.cells[i]
}

// text returns a trimmed cell without the apostrophe that protects it in spreadsheets. Before a digit, it does so only
// in columns of codes, amounts and times: a title can be '90s.
func (c cells) text(column string) string {
	i, exists := c.at[column]
	switch cell := strings.TrimSpace(c.raw(column)); {
	case !exists:
		return ""
	case c.types[i] != textColumn || codeColumns[column]:
		return plainText(cell)
	default:
		return withoutApostrophe(cell, "=+-@")
	}
}

// codeColumns are the columns of texts that can be numbers.
var codeColumns = map[string]bool{
	"sku": true, "variant sku": true, "lineitem sku": true, "item sku": true, "upc": true, "barcode": true,
	"variant barcode": true, "gtin": true, "gtin upc ean or isbn": true, "number": true, "order id": true,
	"order number": true, "order number formatted": true, "listing id": true, "customer id": true,
	"customer user id": true, "customer.id": true, "buyer user id": true, "pan suffix": true, "time": true,
	"image position": true, "id": true,
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

// first returns the first of the columns that is not empty.
func (c cells) first(columns ...string) string {
	for _, column := range columns {
		if cell := c.text(column); cell != "" {
			return cell
		}
	}
	return ""
}

func (c cells) refuse(field, problem string, args ...any) {
	c.invalid.Add(c.path+field, problem, args...)
}

// form returns how the values of a column are written.
func (c cells) form(column string) table.Form {
	if i, exists := c.at[column]; exists {
		return c.forms[i]
	}
	return table.Form{}
}

// cents returns an amount, which may be negative, or 0 if the cell is empty.
func (c cells) cents(column, field string) int64 {
	cell := c.text(column)
	if cell == "" {
		return 0
	}
	cents, err := c.form(column).Cents(cell)
	if err != nil {
		c.refuse(field, "%v", err)
	}
	if of := table.Currencies(cell); of != nil && !slices.Contains(of, c.currency) {
		c.refuse(field, "is in %s, but amounts here are in %s", of[0], c.currency)
	}
	return cents
}

// money returns an amount, or nil if the cell is empty. A negative amount is refused.
func (c cells) money(column, field string) *money.Cents {
	if strings.TrimSpace(c.raw(column)) == "" {
		return nil
	}
	cents := c.cents(column, field)
	if cents < 0 {
		c.refuse(field, "%v", money.ErrRange)
		cents = 0
	}
	return new(money.Cents(cents))
}

// time returns a time, or the zero value if the cell is empty.
func (c cells) time(column, field string) time.Time {
	cell := c.text(column)
	if cell == "" {
		return time.Time{}
	}
	at, err := c.form(column).Time(cell, c.zone)
	if err != nil {
		c.refuse(field, "%v", err)
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

func (c cells) moneyField(column, field string) catalog.Field[money.Cents] {
	if amount := c.money(column, field); amount != nil {
		return catalog.Value(*amount)
	}
	return catalog.Field[money.Cents]{}
}

// integer returns a number without a fraction. ok is false if the cell is empty or not such a number; the latter is an
// error.
func (c cells) integer(column, field string) (n int64, ok bool) {
	cell := c.text(column)
	if cell == "" {
		return 0, false
	}
	cents, err := c.form(column).Cents(cell)
	if err != nil || cents%100 != 0 {
		c.refuse(field, "%q must be a whole number", cell)
		return 0, false
	}
	return cents / 100, true
}

// stockField returns a quantity in stock. It is not set if negative, which some systems allow.
func (c cells) stockField(column, field string, notes *[]Note) catalog.Field[int64] {
	n, ok := c.integer(column, field)
	if n < 0 {
		*notes = append(*notes, Note{Text: "the quantity in stock is negative and was not imported"})
	}
	if !ok || n < 0 {
		return catalog.Field[int64]{}
	}
	return catalog.Value(n)
}

// splitTags splits a list at commas.
func splitTags(text string) catalog.Field[[]string] {
	var tags []string
	for tag := range strings.SplitSeq(text, ",") {
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

// statuses are words for the status of a product, in normal form.
var statuses = map[string]string{
	"active": "active", "yes": "active", "true": "active", "1": "active", "published": "active", "aktiv": "active",
	"ja": "active", "actif": "active", "oui": "active", "activo": "active", "si": "active", "actief": "active",
	"draft": "draft", "no": "draft", "false": "draft", "0": "draft", "-1": "draft", "2": "draft", "archived": "draft",
	"inactive": "draft", "unlisted": "draft", "entwurf": "draft", "nein": "draft", "inaktiv": "draft", "non": "draft",
	"inactif": "draft", "inactivo": "draft", "nee": "draft", "n": "draft", "y": "active",
}

// statusField returns the status for a word of another system, such as "published". The catalog refuses an unknown
// word.
func statusField(word string) catalog.Field[string] {
	if status, known := statuses[strings.ToLower(word)]; known {
		return catalog.Value(status)
	}
	return textField(word)
}
