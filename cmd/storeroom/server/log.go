package server

import (
	"context"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/storeroom/storeroom/cmd/storeroom/config"
)

func newStderrHandler(w io.Writer, format config.LogFormat, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if format == "text" {
		return slog.NewTextHandler(w, options)
	}
	return slog.NewJSONHandler(w, options)
}

// newLogger returns a logger that writes to stderr and, unless it is nil, to export. Both receive only records of at
// least this level, without the values that errors quote.
func newLogger(stderr, export slog.Handler, level slog.Level) *slog.Logger {
	handler := slog.Handler(traceHandler{stderr})
	if export != nil {
		handler = slog.NewMultiHandler(handler, levelHandler{export, level})
	}
	return slog.New(redactHandler{handler})
}

// levelHandler drops records below a level.
type levelHandler struct {
	slog.Handler
	level slog.Level
}

// Enabled implements slog.Handler.
func (h levelHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level && h.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h levelHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return levelHandler{h.Handler.WithAttrs(attrs), h.level}
}

// WithGroup implements slog.Handler.
func (h levelHandler) WithGroup(name string) slog.Handler {
	return levelHandler{h.Handler.WithGroup(name), h.level}
}

// traceHandler adds the ids of the current trace and span.
type traceHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h traceHandler) WithGroup(name string) slog.Handler {
	return traceHandler{h.Handler.WithGroup(name)}
}
