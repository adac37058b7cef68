package server

import (
	"context"
	"errors"
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

// logHandler sends records of at least a level to two handlers. It removes the values that errors quote, because they
// are data of a tenant.
type logHandler struct {
	stderr, export slog.Handler
	level          slog.Level
}

// Enabled implements slog.Handler.
func (h logHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle implements slog.Handler. Only stderr gets the ids of the trace as attributes: an exported record has fields
// for them.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	r = redactRecord(r)
	err := h.export.Handle(ctx, r)
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return errors.Join(err, h.stderr.Handle(ctx, r))
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	attrs = redactAttrs(attrs)
	return logHandler{h.stderr.WithAttrs(attrs), h.export.WithAttrs(attrs), h.level}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.stderr.WithGroup(name), h.export.WithGroup(name), h.level}
}
