package ratelimit

import (
	"testing"
	"time"
)

func TestReturnToken(t *testing.T) {
	t.Parallel()
	refill := Refill{Burst: 3, Every: time.Hour}
	for name, url := range map[string]string{"Redis": mustURL(t), "memory": "unix:///nowhere/redis.sock"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, bucket := mustOpen(t, url, standard), unused(t)
			l.ReturnToken(t.Context(), bucket, refill) // a full bucket stays full
			for range 2 * refill.Burst {
				if d := l.TakeToken(t.Context(), bucket, refill); !d.Allowed || d.Remaining != refill.Burst-1 {
					t.Fatalf("TakeToken = %+v, want allowed with %d remaining", d, refill.Burst-1)
				}
				l.ReturnToken(t.Context(), bucket, refill)
			}
			for range refill.Burst {
				l.TakeToken(t.Context(), bucket, refill)
			}
			l.ReturnToken(t.Context(), bucket, refill)
			for _, want := range []bool{true, false} {
				if d := l.TakeToken(t.Context(), bucket, refill); d.Allowed != want {
					t.Errorf("TakeToken after one return = %+v, want allowed: %v", d, want)
				}
			}
		})
	}
}
