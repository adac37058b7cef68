package config

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// defaultMemory is the memory that the handbook recommends for an instance.
const defaultMemory = 512 << 20

// gcPercent halves the work of the garbage collector. The memory limit bounds the additional memory.
const gcPercent = 200

// SetRuntime configures the Go runtime for a server and returns its memory limit. The variables GOMAXPROCS, GOGC and
// GOMEMLIMIT override the defaults.
//
// The default is two threads for each CPU. Go runs goroutines in turn, but Linux prefers a thread that has waited to
// threads that compute, so a short request does not wait until long work of other requests has ended.
func SetRuntime(environment map[string]string) Setting {
	if environment["GOMAXPROCS"] == "" {
		doubleThreads()
	}
	if environment["GOGC"] == "" {
		debug.SetGCPercent(gcPercent)
	}
	limit, setting := memoryLimit(environment, memlimit.FromCgroup)
	debug.SetMemoryLimit(limit)
	return setting
}

var doubleThreads = sync.OnceFunc(func() { runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0)) })

// memoryLimit returns the soft memory limit of the Go runtime: 80 % of the memory limit of the cgroup, or of
// defaultMemory without one. The rest is for the program itself and for garbage that is collected late.
func memoryLimit(environment map[string]string, cgroup memlimit.Provider) (int64, Setting) {
	if value := environment["GOMEMLIMIT"]; value != "" {
		return debug.SetMemoryLimit(-1), Setting{"GOMEMLIMIT", value, "environment"} // the runtime has read it
	}
	memory, err := cgroup()
	source := "cgroup"
	if err != nil { // no limit, or a system without cgroups
		memory, source = defaultMemory, "default"
	}
	limit := int64(memory / 10 * 8)
	return limit, Setting{"GOMEMLIMIT", fmt.Sprintf("%dMiB", limit>>20), source}
}
