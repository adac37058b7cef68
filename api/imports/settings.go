package imports

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/tenancy"
)

// Settings are the user's answers. The zero value is valid.
type Settings struct {
	// Mapping holds the fields of columns by file: {"sales.csv": {"Artikel-Nr.": "sku"}}. An empty field ignores the
	// column. A file with a mapping is read as a plain spreadsheet.
	Mapping      map[string]map[string]string `json:"mapping,omitempty"`
	DateOrder    string                       `json:"date_order,omitempty"`    // dmy or mdy
	Decimal      string                       `json:"decimal,omitempty"`       // , or .
	Charset      string                       `json:"charset,omitempty"`       // one of table.Charsets, of texts not in UTF-8
	Timezone     string                       `json:"timezone,omitempty"`      // of times without one; default the tenant's
	Channel      string                       `json:"channel,omitempty"`       // of all orders
	MissingSKU   string                       `json:"missing_sku,omitempty"`   // derive or refuse
	RepeatedSKU  string                       `json:"repeated_sku,omitempty"`  // derive, last or refuse
	Statuses     map[string]string            `json:"statuses,omitempty"`      // what statuses of orders mean
	Refunds      string                       `json:"refunds,omitempty"`       // attach or leave_out those without an order
	TaxIncluded  string                       `json:"tax_included,omitempty"`  // yes or no, for a plain spreadsheet
	Cost         string                       `json:"cost,omitempty"`          // unit or line
	Discount     string                       `json:"discount,omitempty"`      // amount or percent
	Total        string                       `json:"total,omitempty"`         // of a line before_discount or after_discount
	Tax          string                       `json:"tax,omitempty"`           // of the order or of the row
	Rounding     string                       `json:"rounding,omitempty"`      // round or refuse more than two decimals
	RestoreZeros bool                         `json:"restore_zeros,omitempty"` // of barcodes
}

// Choices are the answers to each question, by its ID, which is the name of a setting. A question about statuses is about
// one of them, one about a mapping has no list of answers, and rounding is offered without a question.
var Choices = map[string][]string{
	"mapping": nil, "statuses": orderStatuses,
	"date_order": {"dmy", "mdy"}, "decimal": {",", "."}, "charset": table.Charsets, "missing_sku": {"derive", "refuse"},
	"repeated_sku": {"derive", "last", "refuse"}, "rounding": {"round", "refuse"}, "refunds": {"attach", "leave_out"},
	"tax_included": {"yes", "no"}, "cost": {"unit", "line"}, "discount": {"amount", "percent"},
	"total": {"before_discount", "after_discount"}, "tax": {"order", "row"},
}

// orderStatuses are what a status of an order can mean, the strongest last.
var orderStatuses = []string{"sale", "unpaid", "refunded", "ignored", "cancelled"}

// answers returns the settings that are a text, of which most are one of Choices.
func (s *Settings) answers() map[string]*string {
	return map[string]*string{
		"date_order": &s.DateOrder, "decimal": &s.Decimal, "charset": &s.Charset, "missing_sku": &s.MissingSKU,
		"repeated_sku": &s.RepeatedSKU, "rounding": &s.Rounding, "refunds": &s.Refunds, "tax_included": &s.TaxIncluded,
		"cost": &s.Cost, "discount": &s.Discount, "tax": &s.Tax, "total": &s.Total,
		"timezone": &s.Timezone, "channel": &s.Channel,
	}
}

// Answer returns the answer to a question by its key, or "".
func (s Settings) Answer(key string) string {
	if status, isStatus := strings.CutPrefix(key, statusKey); isStatus {
		return s.Statuses[status]
	}
	return orZero(s.answers()[key])
}

// with returns the settings with an answer to a question.
func (s Settings) with(key, answer string) Settings {
	if status, isStatus := strings.CutPrefix(key, statusKey); isStatus {
		statuses := map[string]string{status: answer}
		for other, meaning := range s.Statuses {
			if other != status {
				statuses[other] = meaning
			}
		}
		s.Statuses = statuses
	} else if setting := s.answers()[key]; setting != nil {
		*setting = answer
	}
	return s
}

// Answers are settings in JSON, by name. Null restores the default.
type Answers map[string]json.RawMessage

// IsSetting reports whether a setting has this name.
func IsSetting(name string) bool {
	return new(Settings).answers()[name] != nil || slices.Contains([]string{"mapping", "statuses", "restore_zeros"}, name)
}

// With returns the settings with answers; other settings stay. The API, the pages and the command change settings in no
// other way. It returns an InvalidError by setting, and then the settings as they were given.
func (s Settings) With(answers Answers) (Settings, error) {
	invalid := tenancy.InvalidError{}
	for name, value := range answers {
		if err := s.set(name, value); err != nil {
			invalid.Add(name, "%v", err)
		}
	}
	for name, problems := range s.check() {
		if len(invalid[name]) == 0 {
			invalid[name] = problems
		}
	}
	return s, invalid.Err()
}

// set reads strictly: null instead of a text in an object is an error. Texts are stored as JSON, which cannot have NUL.
func (s *Settings) set(name string, value json.RawMessage) (err error) {
	isNull := string(value) == "null"
	answer := s.answers()[name]
	switch {
	case answer != nil:
		if *answer, err = textOf(value); err == nil && *answer == "" && !isNull && Choices[name] != nil {
			err = errors.New("must not be empty; null restores the default")
		}
	case name == "restore_zeros":
		if json.Unmarshal(value, &s.RestoreZeros) != nil {
			return errors.New("must be true or false")
		}
		s.RestoreZeros = s.RestoreZeros && !isNull
	case name == "mapping":
		s.Mapping, err = mappingOf(value)
	case name == "statuses":
		s.Statuses, err = textsOf(value, isNull)
	default:
		return errors.New("is not a known setting")
	}
	return err
}

// textOf reads a text, or null as "".
func textOf(value json.RawMessage) (text string, err error) {
	if json.Unmarshal(value, &text) != nil {
		return "", errors.New("must be a string")
	}
	return text, checkText(text)
}

func checkText(text string) error {
	if strings.ContainsRune(text, 0) {
		return errors.New("must not contain NUL characters")
	}
	return nil
}

// textsOf reads an object of texts.
func textsOf(value json.RawMessage, mayBeNull bool) (map[string]string, error) {
	var texts map[string]*string
	if json.Unmarshal(value, &texts) != nil || texts == nil && !mayBeNull {
		return nil, errors.New("must be an object of texts")
	}
	all := map[string]string{}
	for name, text := range texts {
		if text == nil {
			return nil, errors.New("must be an object of texts")
		}
		if err := checkText(name + *text); err != nil {
			return nil, err
		}
		all[name] = *text
	}
	return all, nil
}

// mappingOf reads an object of files with objects of columns and fields.
func mappingOf(value json.RawMessage) (map[string]map[string]string, error) {
	var files map[string]json.RawMessage
	err, mapping := json.Unmarshal(value, &files), map[string]map[string]string{}
	for file, columns := range files {
		texts, problem := textsOf(columns, false)
		mapping[file], err = texts, cmp.Or(err, problem, checkText(file))
	}
	if err != nil {
		return nil, errors.New("must be an object of files with objects of columns and fields")
	}
	return mapping, nil
}

// check returns the validation errors of the settings.
func (s Settings) check() tenancy.InvalidError {
	invalid := tenancy.InvalidError{}
	for name, answer := range s.answers() {
		if choices := Choices[name]; *answer != "" && choices != nil && !slices.Contains(choices, *answer) {
			invalid.Add(name, "must be one of %s", strings.Join(choices, ", "))
		}
	}
	for _, outcome := range s.Statuses {
		if !slices.Contains(orderStatuses, outcome) {
			invalid.Add("statuses", "must be one of %s", strings.Join(orderStatuses, ", "))
			break
		}
	}
	if s.Channel != "" && channelOf(s.Channel) != s.Channel {
		invalid.Add("channel", "must be 1 to 50 lower-case letters, digits, dashes and underscores")
	}
	if _, err := time.LoadLocation(s.Timezone); err != nil || s.Timezone == "Local" {
		invalid.Add("timezone", "must be a name such as Europe/Berlin")
	}
	return invalid
}

// isField reports whether a column can be mapped to a field of that name; "" ignores the column.
func isField(name string) bool {
	return name == "" || slices.Contains(Fields[Product], name) || slices.Contains(Fields[Order], name)
}

// zone returns the time zone of times without one, or an InvalidError. A mapping to a field that does not exist, which
// another release may know, is an error only when files are read.
func (s Settings) zone(tenant Tenant) (*time.Location, error) {
	invalid := s.check()
	for _, file := range slices.Sorted(maps.Keys(s.Mapping)) {
		for _, name := range slices.Sorted(maps.Values(s.Mapping[file])) {
			if !isField(name) && len(invalid["mapping"]) == 0 {
				invalid.Add("mapping", "has the unknown field %s", shorten(name, maxColumnName))
			}
		}
	}
	if err := invalid.Err(); err != nil || s.Timezone == "" {
		return tenant.Timezone, err
	}
	return time.LoadLocation(s.Timezone)
}
