package changeplan

import (
	"runtime"
	"syscall"
)

// workerNice is the nice value of workers. Linux prefers threads with a lower value, such as those that serve requests.
const workerNice = 10

// lowerPriority moves the calling goroutine to its own thread and lowers the priority of that thread, because computing
// a plan can use a CPU for seconds. The thread ends with the goroutine.
func lowerPriority() error {
	runtime.LockOSThread()
	// The system call returns 20 minus the nice value. The whole process may have a lower priority already.
	if current, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err != nil || 20-current >= workerNice {
		return err
	}
	return syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), workerNice)
}
