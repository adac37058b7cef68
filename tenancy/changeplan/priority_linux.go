package changeplan

import (
	"runtime"
	"syscall"
)

// workerNice is the priority of workers for the scheduler of Linux: it runs a thread that serves requests first.
const workerNice = 10

// lowerPriority gives the calling goroutine a thread of its own with a lower priority, until it ends. Computing a plan
// can use a CPU for seconds.
func lowerPriority() error {
	runtime.LockOSThread()
	// The system call returns 20 minus the nice value. The whole process may have a lower priority already.
	if current, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err != nil || 20-current >= workerNice {
		return err
	}
	return syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), workerNice)
}
