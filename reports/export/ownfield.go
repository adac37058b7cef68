package export

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
)

// codec writes values as cells and reads them from cells that are not empty, or returns a problem.
type codec[T any] struct {
	kind  Kind
	write func(T) cell
	read  func(string) (value T, problem string)
}

var (
	texts       = codec[string]{Text, textOf, func(text string) (string, string) { return text, "" }}
	identifiers = codec[string]{Text, textOf, func(text string) (string, string) { return strings.TrimSpace(text), "" }}
	labels      = codec[string]{Text, textOf, catalog.CheckName}
	amounts     = codec[money.Cents]{Amount, amountOf, readInteger[money.Cents]}
	times       = codec[time.Time]{Time, momentOf, readTime}
	pastTimes   = codec[time.Time]{Time, momentOf, readPastTime}
	ids         = codec[int64]{Text, idOf, readInteger[int64]}
	numbers     = codec[int32]{Text, countOf[int32], readInteger[int32]}
	counts      = codec[int64]{Text, countOf[int64], readCount(0)}
	units       = codec[int64]{Text, countOf[int64], readCount(1)}
	flags       = codec[bool]{Text, trueOf, readFlag}
	digests     = codec[[]byte]{Text, digestOf, readDigest}
	tags        = codec[[]string]{Text, tagsOf, splitTags}
	shares      = codec[[]sales.RefundShare]{Text, sharesOf, splitShares}
)

// field is a field of a row.
type field[R any] struct {
	kind  Kind
	write func(*R) cell
	read  func(row *R, text string) (problem string)
}

func newField[R, T any](c codec[T], get func(*R) *T, set func(*R, T)) field[R] {
	return field[R]{c.kind, func(row *R) cell { return optional(get(row), c.write) }, func(row *R, text string) string {
		value, problem := c.read(text)
		if problem == "" {
			set(row, value)
		}
		return problem
	}}
}

// value returns a field that has its zero value if its cell is empty or refused.
func value[R, T any](c codec[T], at func(*R) *T) field[R] {
	return newField(c, at, func(row *R, value T) { *at(row) = value })
}

// pointer returns a field that is nil if its cell is empty or refused.
func pointer[R, T any](c codec[T], at func(*R) **T) field[R] {
	return newField(c, func(row *R) *T { return *at(row) }, func(row *R, value T) { *at(row) = &value })
}

// change returns a field that is not set if its cell is empty or refused.
func change[R, T any](c codec[T], at func(*R) *catalog.Field[T]) field[R] {
	return newField(c, func(row *R) *T {
		if change := at(row); change.Set {
			return &change.Value
		}
		return nil
	}, func(row *R, value T) { *at(row) = catalog.Value(value) })
}

// changeOf returns a field that is not set for nil.
func changeOf[T any](value *T) catalog.Field[T] {
	if value == nil {
		return catalog.Field[T]{}
	}
	return catalog.Value(*value)
}

func readTime(text string) (time.Time, string) {
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(text))
	if err != nil {
		return at, "must be an RFC 3339 time such as 2026-03-01T09:30:00Z"
	}
	return at, ""
}

func readPastTime(text string) (time.Time, string) {
	at, problem := readTime(text)
	if problem == "" && (at.Before(time.Unix(0, 0)) || at.After(time.Now().AddDate(0, 0, 1))) {
		problem = "must be between 1970-01-01T00:00:00Z and one day from now"
	}
	return at, problem
}

func readInteger[N ~int32 | ~int64](text string) (N, string) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || int64(N(n)) != n {
		return 0, "must be a whole number"
	}
	return N(n), ""
}

// readCount reads an integer. Its bounds are checked when it is stored.
func readCount(minimum int64) func(string) (int64, string) {
	return func(text string) (int64, string) {
		n, problem := readInteger[int64](text)
		if problem != "" {
			problem += fmt.Sprintf(" between %d and %d", minimum, catalog.MaxQuantity)
		}
		return n, problem
	}
}

// trueOf is empty for false.
func trueOf(is bool) cell {
	if is {
		return textOf("true")
	}
	return cell{}
}

// readFlag accepts TRUE, which spreadsheets write.
func readFlag(text string) (bool, string) {
	text = strings.ToLower(strings.TrimSpace(text))
	if text != "true" && text != "false" && text != "" {
		return false, "must be true, false or empty"
	}
	return text == "true", ""
}

func digestOf(digest []byte) cell { return textOf(hex.EncodeToString(digest)) }

func readDigest(text string) ([]byte, string) {
	digest, err := hex.DecodeString(text)
	if err != nil || len(digest) != 32 {
		return nil, "must have 64 hexadecimal digits"
	}
	return digest, ""
}

var escapeTag = strings.NewReplacer(`\`, `\\`, `;`, `\;`)

// tagsOf joins tags with semicolons. A backslash precedes semicolons and backslashes in tags.
func tagsOf(tags []string) cell {
	escaped := make([]string, len(tags))
	for i, tag := range tags {
		escaped[i] = escapeTag.Replace(tag)
	}
	return textOf(strings.Join(escaped, ";"))
}

// Bytes that are never part of UTF-8 replace the escaped characters while tags are split.
var (
	hideEscapes = strings.NewReplacer(`\\`, "\xc0\x80", `\;`, "\xc0\x81")
	showEscaped = strings.NewReplacer("\xc0\x80", `\`, "\xc0\x81", `;`)
)

func splitTags(text string) (tags []string, problem string) {
	for tag := range strings.SplitSeq(hideEscapes.Replace(text), ";") {
		if tag != "" {
			tags = append(tags, showEscaped.Replace(tag))
		}
	}
	return tags, ""
}

// sharesOf returns line:amount:revenue:units of each share, separated by blanks.
func sharesOf(shares []sales.RefundShare) cell {
	joined := make([]string, len(shares))
	for i, s := range shares {
		joined[i] = fmt.Sprintf("%d:%s:%s:%d", s.Line, s.Amount, s.Revenue, s.Units)
	}
	return textOf(strings.Join(joined, " "))
}

func splitShares(text string) (shares []sales.RefundShare, problem string) {
	for part := range strings.SplitSeq(text, " ") {
		fields := strings.Split(part, ":")
		if len(fields) != 4 || len(shares) == sales.MaxItems {
			return nil, badShares
		}
		line, errLine := strconv.ParseInt(fields[0], 10, 32)
		amount, errAmount := money.Parse(fields[1])
		revenue, errRevenue := money.Parse(fields[2])
		units, errUnits := strconv.ParseInt(fields[3], 10, 32)
		if errors.Join(errLine, errAmount, errRevenue, errUnits) != nil || line < 1 || units < 0 {
			return nil, badShares
		}
		shares = append(shares, sales.RefundShare{
			Line: int32(line), Amount: amount, Revenue: revenue, Units: int32(units),
		})
	}
	return shares, ""
}

const badShares = "must be line:amount:revenue:units of each item, separated by blanks"
