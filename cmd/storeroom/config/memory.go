package config

import (
	"fmt"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/storeroom/storeroom/catalog/media"
)

const (
	// serviceMemory is the memory of an instance without the child process that decodes a picture.
	serviceMemory = 512 << 20
	// minImageMemory is the memory of a child if the limit leaves less: enough for a photo of a phone.
	minImageMemory = 192 << 20
)

// ImageMemory returns the bytes that a child process may use: the memory limit of the cgroup minus serviceMemory or,
// without a limit, enough for any picture.
func ImageMemory() int64 { return imageMemory(memlimit.FromCgroup) }

func imageMemory(cgroup memlimit.Provider) int64 {
	memory, err := cgroup()
	if err != nil {
		return media.MaxMemory
	}
	return min(max(int64(memory)-serviceMemory, minImageMemory), media.MaxMemory)
}

// gcPercent is four times the default, so that the garbage collector uses the CPUs a fourth as often. The memory limit
// bounds the additional memory.
const gcPercent = 400

// SetRuntime configures the Go runtime for a server and returns its memory limit. The variables GOGC and GOMEMLIMIT
// override the defaults.
func SetRuntime(environment map[string]string) Setting {
	if environment["GOGC"] == "" {
		debug.SetGCPercent(gcPercent)
	}
	limit, setting := memoryLimit(environment, memlimit.FromCgroup)
	debug.SetMemoryLimit(limit)
	return setting
}

// memoryLimit returns the soft memory limit of the Go runtime: 80 % of the memory limit of the cgroup minus the memory
// of a child, or 80 % of serviceMemory if that is more or there is no limit. The rest is for the program itself and for
// garbage that is collected late.
func memoryLimit(environment map[string]string, cgroup memlimit.Provider) (int64, Setting) {
	if value := environment["GOMEMLIMIT"]; value != "" {
		return debug.SetMemoryLimit(-1), Setting{"GOMEMLIMIT", value, "environment"} // the runtime has read it
	}
	memory, err := cgroup()
	source := "cgroup"
	if err != nil { // no limit, or a system without cgroups
		memory, source = serviceMemory, "default"
	}
	memory = min(memory, max(serviceMemory, memory-min(memory, media.MaxMemory)))
	limit := int64(memory / 10 * 8)
	return limit, Setting{"GOMEMLIMIT", fmt.Sprintf("%dMiB", limit>>20), source}
}
