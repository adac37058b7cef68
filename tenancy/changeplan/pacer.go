package changeplan

import (
	"context"
	"math"
	"time"

	"github.com/storeroom/storeroom/tenancy/db"
)

// A worker pauses at least every minWork. A pause is requestWeight times as long as the work before it, multiplied by
// how many connections requests have had on average in about loadTime, but at most maxWait times as long, and half a
// lease. Requests take longer during the work, so pauses limit how many of them overlap with it.
const (
	minWork       = 2 * time.Millisecond
	requestWeight = 80
	maxWait       = 6
	loadTime      = time.Second
)

// pacer makes a worker pause while requests need the database, so that they are not delayed. A nil pacer does not.
type pacer struct {
	db     *db.DB
	began  time.Time // the work since the last pause
	loadAt time.Time
	load   float64       // connections
	used   time.Duration // by requests until loadAt
}

func (s *Store) newPacer() *pacer {
	now := time.Now()
	return &pacer{db: s.db, began: now, loadAt: now, used: s.db.Used()}
}

// begin must be called before work after another wait.
func (p *pacer) begin() { p.began = time.Now() }

// wait pauses if there was enough work since the last pause. The caller must see by itself that ctx has ended.
func (p *pacer) wait(ctx context.Context) {
	if p == nil {
		return
	}
	now := time.Now()
	took := now.Sub(p.began)
	if took < minWork {
		return
	}
	used := p.db.Used()
	p.load = loadAfter(p.load, now.Sub(p.loadAt), used-p.used)
	p.loadAt, p.used = now, used
	_ = pause(ctx, pauseAfter(took, p.load))
	p.begin()
}

// loadAfter returns the average load after a time in which requests had connections for used.
func loadAfter(load float64, passed, used time.Duration) float64 {
	old := math.Exp(-passed.Seconds() / loadTime.Seconds())
	return old*load + (1-old)*used.Seconds()/passed.Seconds()
}

// pauseAfter returns how long the pause after work is.
func pauseAfter(took time.Duration, load float64) time.Duration {
	return min(time.Duration(min(maxWait, requestWeight*load)*float64(took)), leaseSeconds*time.Second/2)
}
