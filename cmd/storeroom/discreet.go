package main

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// discreet keeps values out of every line: an error quotes what it was about, and
// that is somebody's product, order or customer.
type discreet struct{ slog.Handler }

// Handle writes one line.
func (h discreet) Handle(ctx context.Context, r slog.Record) error {
	errs := false
	r.Attrs(func(a slog.Attr) bool { errs = isError(a); return !errs })
	if !errs {
		return h.Handler.Handle(ctx, r) // as almost always: at no cost
	}
	said := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool { said.AddAttrs(withoutValues(a)); return true })
	return h.Handler.Handle(ctx, said)
}

// WithAttrs keeps them out of the lines of derived loggers.
func (h discreet) WithAttrs(attrs []slog.Attr) slog.Handler {
	said := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		said[i] = withoutValues(a)
	}
	return discreet{h.Handler.WithAttrs(said)}
}

// WithGroup keeps them out too.
func (h discreet) WithGroup(name string) slog.Handler { return discreet{h.Handler.WithGroup(name)} }

func isError(a slog.Attr) bool {
	if a.Value.Kind() != slog.KindAny {
		return a.Value.Kind() == slog.KindGroup && slices.ContainsFunc(a.Value.Group(), isError)
	}
	_, is := a.Value.Any().(error)
	return is
}

func withoutValues(a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindGroup:
		said := make([]slog.Attr, 0, len(a.Value.Group()))
		for _, b := range a.Value.Group() {
			said = append(said, withoutValues(b))
		}
		return slog.GroupAttrs(a.Key, said...)
	case slog.KindAny:
		if err, is := a.Value.Any().(error); is {
			return slog.String(a.Key, tell(err))
		}
	}
	return a
}

// quoted is what errors put values into; number stands alone, so that addresses, times
// and names that end in one stay.
var (
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	number = regexp.MustCompile(`(^|[\s(\[{,])[-+]?\d+(?:\.\d+)?([\s),;\]}]|$)`)
)

// tell is what an error says, less the values: what was attempted, and of a refusal by
// PostgreSQL its code and the names of what it is about. Its message is left out, as it
// repeats what was sent.
func tell(err error) string {
	text := err.Error()
	for _, pg := range refusedBy(err) {
		said := []string{"PostgreSQL: SQLSTATE=" + pg.Code}
		for _, about := range [][2]string{{"constraint", pg.ConstraintName}, {"table", pg.TableName}, {"column", pg.ColumnName}, {"routine", pg.Routine}} {
			if about[1] != "" {
				said = append(said, about[0]+"="+about[1])
			}
		}
		text = strings.ReplaceAll(text, pg.Error(), strings.Join(said, " "))
	}
	text = quoted.ReplaceAllString(text, "…")
	for before := ""; before != text; { // neighbours share the space between them
		before, text = text, number.ReplaceAllString(text, "$1…$2")
	}
	return text
}

// refusedBy is all errors of PostgreSQL in an error.
func refusedBy(err error) []*pgconn.PgError {
	switch e := err.(type) {
	case *pgconn.PgError:
		return []*pgconn.PgError{e}
	case interface{ Unwrap() error }:
		return refusedBy(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []*pgconn.PgError
		for _, each := range e.Unwrap() {
			all = append(all, refusedBy(each)...)
		}
		return all
	}
	return nil
}
