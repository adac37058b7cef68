package threads

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// backgroundNice is the nice value of threads for background work. Linux prefers threads with a lower value.
	backgroundNice = 10
	// requestSlice is the smallest slice that Linux accepts, computeSlice is about its default.
	requestSlice = 100 * time.Microsecond
	computeSlice = 3 * time.Millisecond
)

// shortened is whether ShortenSlices has succeeded.
var shortened atomic.Bool

// ShortenSlices gives all threads of the process a short slice, also those that start later.
func ShortenSlices() error {
	done := map[string]bool{}
	for more := true; more; { // a thread may have started another one meanwhile
		more = false
		all, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, thread := range all {
			if done[thread.Name()] {
				continue
			}
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				return err
			}
			if err := setSlice(id, requestSlice); err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
				return err
			}
			done[thread.Name()], more = true, true
		}
	}
	shortened.Store(true)
	return nil
}

// Compute gives the calling goroutine its own thread with a longer slice, until it calls the returned function.
func Compute() (done func()) {
	if !shortened.Load() {
		return func() {}
	}
	runtime.LockOSThread()
	_ = setSlice(0, computeSlice) // ShortenSlices has shown that it is allowed
	return endCompute
}

func endCompute() {
	_ = setSlice(0, requestSlice)
	runtime.UnlockOSThread()
}

// Background gives the calling goroutine its own thread with a low priority. The thread ends with the goroutine.
func Background() error {
	runtime.LockOSThread()
	_ = setSlice(0, computeSlice) // a sandbox may forbid it
	// The system call returns 20 minus the nice value. The whole process may have a lower priority already.
	if current, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err != nil || 20-current >= backgroundNice {
		return err
	}
	return syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), backgroundNice)
}

// setSlice changes the slice of a thread, or of the calling one if the id is 0. Linux before version 6.12 ignores it.
func setSlice(id int, slice time.Duration) error {
	attributes, err := unix.SchedGetAttr(id, 0)
	if err != nil {
		return err
	}
	attributes.Runtime = uint64(slice)
	return unix.SchedSetAttr(id, attributes, 0)
}
