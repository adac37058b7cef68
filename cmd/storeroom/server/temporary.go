package server

import (
	"context"
	"os"

	"go.opentelemetry.io/otel"
	otelmetric "go.opentelemetry.io/otel/metric"
	"golang.org/x/sys/unix"
)

// observeTemporaryFiles registers the metric of the free space for temporary files. The errors are ignored: the SDK
// only rejects invalid names, and a file system without numbers has no value.
func observeTemporaryFiles() {
	_, _ = otel.Meter("github.com/storeroom/storeroom/cmd/storeroom/server").Int64ObservableGauge(
		"storeroom.temporary.free", otelmetric.WithUnit("By"),
		otelmetric.WithDescription("Free space in the folder of temporary files (TMPDIR)."),
		otelmetric.WithInt64Callback(func(_ context.Context, o otelmetric.Int64Observer) error {
			var stat unix.Statfs_t
			if unix.Statfs(os.TempDir(), &stat) == nil {
				o.Observe(int64(stat.Bavail) * int64(stat.Bsize))
			}
			return nil
		}))
}
