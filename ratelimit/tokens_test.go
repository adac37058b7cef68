package ratelimit

import (
	"fmt"
	"testing"
	"time"
)

func TestTokensBurstAndRefill(t *testing.T) {
	t.Parallel()
	l := mustOpen(t, mustURL(t), longTimeout())
	unavailable := mustOpen(t, "unix:///missing/redis.sock", standard)
	for _, test := range []struct {
		name    string
		limiter *Limiter
	}{{"in Redis", l}, {"in memory", unavailable}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l, name, refill := test.limiter, unused(t), Refill{Burst: 7, Every: 200 * time.Millisecond}
			if d := l.PeekToken(t.Context(), name, refill); !d.Allowed || d.Remaining != 7 {
				t.Errorf("PeekToken of a full bucket = %+v, want 7 remaining", d)
			}
			for want := 6; want >= 0; want-- {
				d := l.TakeToken(t.Context(), name, refill)
				if !d.Allowed || d.Remaining != want || d.Limit != 7 || d.Local != (l == unavailable) {
					t.Errorf("TakeToken = %+v, want allowed with %d remaining", d, want)
				}
				if wait := time.Until(d.Reset); wait > refill.Every {
					t.Errorf("Reset is %v away, want the next token within %v", wait, refill.Every)
				}
			}
			d := l.TakeToken(t.Context(), name, refill)
			if d.Allowed || d.RetryAfter <= 0 || d.RetryAfter > refill.Every+slack {
				t.Fatalf("TakeToken of an empty bucket = %+v, want refused for at most %v", d, refill.Every)
			}
			if p := l.PeekToken(t.Context(), name, refill); p.Allowed || p.Remaining != 0 {
				t.Errorf("PeekToken of an empty bucket = %+v, want refused", p)
			}
			time.Sleep(d.RetryAfter)
			if d := l.TakeToken(t.Context(), name, refill); !d.Allowed {
				t.Errorf("TakeToken after RetryAfter = %+v, want allowed", d)
			}
		})
	}
}

func TestRemainingTokensAreExactForEverySize(t *testing.T) {
	t.Parallel()
	l, name := mustOpen(t, mustURL(t), longTimeout()), unused(t)
	for size := 1; size <= 200; size++ {
		refill := Refill{Burst: size, Every: time.Minute / time.Duration(size)}
		if d := l.TakeToken(t.Context(), fmt.Sprint(name, size), refill); d.Remaining != size-1 {
			t.Errorf("Remaining after the first of %d = %d", size, d.Remaining)
		}
	}
}

func TestReturnTokenGivesOneTokenBack(t *testing.T) {
	t.Parallel()
	refill := Refill{Burst: 3, Every: time.Hour}
	for name, url := range map[string]string{"Redis": mustURL(t), "memory": "unix:///missing/redis.sock"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, bucket := mustOpen(t, url, longTimeout()), unused(t)
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
