package ratelimit

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// The benchmarks report processor time beside the duration of a decision, that of
// Redis included: on a machine that also does other work it varies less.

// BenchmarkTake measures one script call per request, which Take makes.
func BenchmarkTake(b *testing.B) {
	l := mustOpen(b, mustURL(b), longTimeout())
	benchmarkCallers(b, func(name string, limit int) error {
		if d := l.Take(b.Context(), name, limit); d.Local {
			return fmt.Errorf("decided in memory: %+v", d)
		}
		return nil
	})
}

// BenchmarkAutoPipeline measures the same script through the automatic pipelining of
// go-redis, which sends the commands of concurrent callers in one round trip.
func BenchmarkAutoPipeline(b *testing.B) {
	client := mustDial(b, mustURL(b))
	pipeline, err := client.AsyncAutoPipeline()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { pipeline.Close() })
	if err := windowScript.Load(b.Context(), client).Err(); err != nil {
		b.Fatal(err)
	}
	benchmarkCallers(b, func(name string, limit int) error {
		ctx, cancel := context.WithTimeout(b.Context(), longTimeout().timeout)
		defer cancel()
		s := standard
		cmd := redis.NewCmd(ctx, "EVALSHA", windowScript.Hash(), 1, windowKey(name),
			limit, 1, s.window.Microseconds(), s.bucketOf(limit).Microseconds())
		if err := pipeline.Submit(ctx, once{cmd}).WaitContext(ctx); err != nil {
			return err
		}
		_, err := cmd.Int64Slice()
		return err
	})
}

// benchmarkCallers measures a function with 1 to 64 callers: requests that are
// admitted, also in buckets, and a flood of refused ones.
func benchmarkCallers(b *testing.B, take func(name string, limit int) error) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("admitted/%d", callers), func(b *testing.B) {
			benchmark(b, callers, func(name string, i int) error { return take(fmt.Sprint(name, i/300), 300) })
		})
	}
	b.Run("buckets/64", func(b *testing.B) {
		benchmark(b, 64, func(name string, _ int) error { return take(name, 10_000_000) })
	})
	b.Run("refused/64", func(b *testing.B) {
		benchmark(b, 64, func(name string, _ int) error { return take(name, 1) })
	})
}

func benchmark(b *testing.B, callers int, take func(name string, i int) error) {
	redis := mustDial(b, mustURL(b))
	before := processorTime(b, redis)
	if callers == 1 {
		name := unused(b)
		for i := 0; b.Loop(); i++ {
			if err := take(name, i); err != nil {
				b.Fatal(err)
			}
		}
	} else {
		b.SetParallelism(callers / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			name := unused(b)
			for i := 0; pb.Next(); i++ {
				if err := take(name, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	used := processorTime(b, redis) - before
	b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-µs/op")
}

// processorTime returns the processor time of this process and of Redis.
func processorTime(b *testing.B, client *redis.Client) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	info, err := client.InfoMap(context.Background(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	total := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := time.ParseDuration(info["CPU"][field] + "s")
		if err != nil {
			b.Fatal(err)
		}
		total += seconds
	}
	return total
}

func BenchmarkTakeLocal(b *testing.B) {
	l := mustOpen(b, "unix:///missing/redis.sock", standard)
	b.RunParallel(func(pb *testing.PB) {
		name := unused(b)
		for pb.Next() {
			l.Take(b.Context(), name, 300)
		}
	})
}
