package threads

import (
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// backgroundNice is the nice value of threads for background work. Linux prefers threads with a lower value.
	backgroundNice = 10
	// computeSlice is much longer than the default of about 3 ms.
	computeSlice = 10 * time.Millisecond
	defaultSlice = 0
)

// Compute gives the calling goroutine its own thread with a long slice, until it calls the returned function.
func Compute() (done func()) {
	runtime.LockOSThread()
	setSlice(computeSlice)
	return endCompute
}

func endCompute() {
	setSlice(defaultSlice)
	runtime.UnlockOSThread()
}

// setSlice changes the slice of the calling thread. Linux before version 6.12 ignores it, and a sandbox may forbid it.
func setSlice(slice time.Duration) {
	if attributes, err := unix.SchedGetAttr(0, 0); err == nil {
		attributes.Runtime = uint64(slice)
		_ = unix.SchedSetAttr(0, attributes, 0)
	}
}

// Background gives the calling goroutine its own thread with a low priority. The thread ends with the goroutine.
func Background() error {
	runtime.LockOSThread()
	// The system call returns 20 minus the nice value. The whole process may have a lower priority already.
	if current, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err != nil || 20-current >= backgroundNice {
		return err
	}
	return syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), backgroundNice)
}
