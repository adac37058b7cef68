package server

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// redactRecord returns the record without the values that errors quote. A record without an error costs no allocation.
func redactRecord(r slog.Record) slog.Record {
	hasError := false
	r.Attrs(func(attr slog.Attr) bool {
		hasError = containsError(attr)
		return !hasError
	})
	if !hasError {
		return r
	}
	redacted := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(attr slog.Attr) bool {
		redacted.AddAttrs(redactAttr(attr))
		return true
	})
	return redacted
}

func containsError(attr slog.Attr) bool {
	switch attr.Value.Kind() {
	case slog.KindGroup:
		return slices.ContainsFunc(attr.Value.Group(), containsError)
	case slog.KindAny:
		_, ok := attr.Value.Any().(error)
		return ok
	}
	return false
}

func redactAttrs(attrs []slog.Attr) []slog.Attr {
	redacted := make([]slog.Attr, len(attrs))
	for i, attr := range attrs {
		redacted[i] = redactAttr(attr)
	}
	return redacted
}

func redactAttr(attr slog.Attr) slog.Attr {
	switch attr.Value.Kind() {
	case slog.KindGroup:
		return slog.GroupAttrs(attr.Key, redactAttrs(attr.Value.Group())...)
	case slog.KindAny:
		if err, ok := attr.Value.Any().(error); ok {
			return slog.String(attr.Key, redactError(err))
		}
	}
	return attr
}

var (
	quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	// freeNumber matches a number between spaces or brackets, not in an address, a time or a name.
	freeNumber = regexp.MustCompile(`(^|[\s(\[{,])[-+]?\d+(?:\.\d+)?([\s),;\]}]|$)`)
)

// redactError returns the text of an error without values: quoted text and numbers become "…". A message of PostgreSQL
// may repeat what was sent, so its SQLSTATE and the names of the objects replace it.
func redactError(err error) string {
	text := err.Error()
	for _, pg := range postgresErrors(err) {
		text = strings.ReplaceAll(text, pg.Error(), describePostgres(pg))
	}
	text = quotedText.ReplaceAllString(text, "…")
	for before := ""; before != text; { // repeat: two adjacent numbers share the space between them
		before, text = text, freeNumber.ReplaceAllString(text, "$1…$2")
	}
	return text
}

func describePostgres(pg *pgconn.PgError) string {
	text := "PostgreSQL: SQLSTATE=" + pg.Code
	for _, part := range []struct{ key, value string }{
		{"constraint", pg.ConstraintName},
		{"table", pg.TableName},
		{"column", pg.ColumnName},
		{"routine", pg.Routine},
	} {
		if part.value != "" {
			text += " " + part.key + "=" + part.value
		}
	}
	return text
}

// postgresErrors returns all errors of PostgreSQL that err wraps.
func postgresErrors(err error) []*pgconn.PgError {
	switch e := err.(type) {
	case *pgconn.PgError:
		return []*pgconn.PgError{e}
	case interface{ Unwrap() error }:
		return postgresErrors(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []*pgconn.PgError
		for _, wrapped := range e.Unwrap() {
			all = append(all, postgresErrors(wrapped)...)
		}
		return all
	}
	return nil
}
