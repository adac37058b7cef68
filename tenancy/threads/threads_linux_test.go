package threads

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestOnlyComputingThreadsHaveALongSlice(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread() // Compute and its end do not change the thread
	defer runtime.UnlockOSThread()
	before := attributes(t)
	if before.Runtime == 0 {
		t.Skip("Linux before version 6.12 has no slices of threads")
	}
	done := Compute()
	if got := attributes(t); got.Runtime != uint64(computeSlice) || got.Nice != before.Nice {
		t.Errorf("a computing thread has a slice of %v and the nice value %d", time.Duration(got.Runtime), got.Nice)
	}
	done()
	if got := attributes(t); *got != *before {
		t.Errorf("after computing, the thread has the attributes %+v, before it had %+v", got, before)
	}
}

func TestBackgroundLowersThePriorityOfOneThread(t *testing.T) {
	t.Parallel()
	before := attributes(t)
	nice := make(chan int32)
	go func() {
		if err := Background(); err != nil {
			t.Error(err)
		}
		nice <- attributes(t).Nice
	}()
	if got, want := <-nice, max(before.Nice, backgroundNice); got != want {
		t.Errorf("the nice value of background work is %d, want %d", got, want)
	}
	if got := attributes(t).Nice; got != before.Nice {
		t.Errorf("the nice value of another thread is %d, want %d", got, before.Nice)
	}
}

// attributes returns the attributes of the calling thread.
func attributes(t *testing.T) *unix.SchedAttr {
	t.Helper()
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Error(err)
		return &unix.SchedAttr{}
	}
	return a
}
