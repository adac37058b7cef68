package config

import (
	"fmt"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// defaultMemory is the memory that the handbook recommends for an instance.
const defaultMemory = 512 << 20

// SetMemoryLimit sets the soft memory limit of the Go runtime to 90 % of the memory limit of the cgroup. Without such a
// limit it uses 90 % of defaultMemory. The variable GOMEMLIMIT overrides both.
func SetMemoryLimit(environment map[string]string) Setting {
	limit, setting := memoryLimit(environment, memlimit.FromCgroup)
	debug.SetMemoryLimit(limit)
	return setting
}

func memoryLimit(environment map[string]string, cgroup memlimit.Provider) (int64, Setting) {
	if value := environment["GOMEMLIMIT"]; value != "" {
		return debug.SetMemoryLimit(-1), Setting{"GOMEMLIMIT", value, "environment"} // the runtime has read it
	}
	memory, err := cgroup()
	source := "cgroup"
	if err != nil { // no limit, or a system without cgroups
		memory, source = defaultMemory, "default"
	}
	limit := int64(memory / 10 * 9)
	return limit, Setting{"GOMEMLIMIT", fmt.Sprintf("%dMiB", limit>>20), source}
}
