package changeplan

import (
	"runtime"
	"syscall"
)

// workerNice is the priority of workers for the scheduler of Linux: it runs a thread that serves requests first.
const workerNice = 10

// lowerPriority gives the calling goroutine a thread of its own with a lower priority, until it ends. To compute a plan
// uses a CPU for seconds.
func lowerPriority() error {
	runtime.LockOSThread()
	return syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), workerNice)
}
