package threads

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestOnlyComputingThreadsHaveALongSlice(t *testing.T) {
	if sliceOf(t, 0) == 0 {
		t.Skip("Linux before version 6.12 has no slices of threads")
	}
	if err := ShortenSlices(); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range all {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		if got := sliceOf(t, id); got != requestSlice {
			t.Errorf("thread %d has a slice of %v", id, got)
		}
	}

	runtime.LockOSThread() // Compute and its end do not change the thread
	defer runtime.UnlockOSThread()
	done := Compute()
	if got := sliceOf(t, 0); got != computeSlice {
		t.Errorf("a computing thread has a slice of %v", got)
	}
	done()
	if got := sliceOf(t, 0); got != requestSlice {
		t.Errorf("after computing, the thread has a slice of %v", got)
	}

	type thread struct {
		slice time.Duration
		nice  int32
		err   error
	}
	started := make(chan thread)
	go func() {
		err := Background()
		attributes, getErr := unix.SchedGetAttr(0, 0)
		if getErr != nil {
			t.Error(getErr)
			attributes = &unix.SchedAttr{}
		}
		started <- thread{time.Duration(attributes.Runtime), attributes.Nice, err}
	}()
	own, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := thread{computeSlice, max(own.Nice, backgroundNice), nil}
	if got := <-started; got != want {
		t.Errorf("background: %+v, want %+v", got, want)
	}
}

// sliceOf returns the slice of a thread, or of the calling one if the id is 0.
func sliceOf(t *testing.T, id int) time.Duration {
	t.Helper()
	attributes, err := unix.SchedGetAttr(id, 0)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(attributes.Runtime)
}
