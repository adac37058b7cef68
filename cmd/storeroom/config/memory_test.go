package config

import (
	"errors"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	fails := func(err error) memlimit.Provider { return func() (uint64, error) { return 0, err } }
	for _, test := range []struct {
		name     string
		variable string
		cgroup   memlimit.Provider
		want     int64
		shown    string
		source   string
	}{
		{"container of 2 GiB", "", memlimit.Limit(2 << 30), (1152 << 20) / 10 * 8, "921MiB", "cgroup"},
		{"container of 1408 MiB", "", memlimit.Limit(1408 << 20), (512 << 20) / 10 * 8, "409MiB", "cgroup"},
		{"container of 1 GiB", "", memlimit.Limit(1 << 30), (512 << 20) / 10 * 8, "409MiB", "cgroup"},
		{"container of 256 MiB", "", memlimit.Limit(256 << 20), (256 << 20) / 10 * 8, "204MiB", "cgroup"},
		{"no limit", "", fails(memlimit.ErrNoLimit), (512 << 20) / 10 * 8, "409MiB", "default"},
		{"no cgroup", "", fails(errors.New("no such file")), (512 << 20) / 10 * 8, "409MiB", "default"},
		{"variable", "900MiB", memlimit.Limit(1 << 30), debug.SetMemoryLimit(-1), "900MiB", "environment"},
		{"variable off", "off", memlimit.Limit(1 << 30), debug.SetMemoryLimit(-1), "off", "environment"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			limit, setting := memoryLimit(map[string]string{"GOMEMLIMIT": test.variable}, test.cgroup)
			if want := (Setting{"GOMEMLIMIT", test.shown, test.source}); limit != test.want || setting != want {
				t.Errorf("memoryLimit = %d, %+v, want %d, %+v", limit, setting, test.want, want)
			}
		})
	}
}

func TestImageMemory(t *testing.T) {
	t.Parallel()
	for limit, want := range map[uint64]int64{
		256 << 20: 192 << 20, 512 << 20: 192 << 20, 1 << 30: 512 << 20, 1408 << 20: 896 << 20, 8 << 30: 896 << 20,
	} {
		if got := imageMemory(memlimit.Limit(limit)); got != want {
			t.Errorf("with %d MiB: %d MiB, want %d", limit>>20, got>>20, want>>20)
		}
	}
	if got := imageMemory(func() (uint64, error) { return 0, memlimit.ErrNoLimit }); got != 896<<20 {
		t.Errorf("without a limit: %d MiB", got>>20)
	}
}
