package db

import (
	"context"
	"log/slog"
	"time"
)

// Repeat calls f now and after each interval, until ctx ends, and logs when it begins and ends to fail.
func Repeat(ctx context.Context, interval time.Duration, logger *slog.Logger, f func() error) {
	tick := time.Tick(interval)
	problems := Problems{Begins: "a periodic task fails", Ends: "a periodic task succeeds again"}
	for {
		if err := f(); ctx.Err() == nil {
			problems.Report(ctx, logger, nil, err, "interval", interval)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}
