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
		{"container of 1 GiB", "", memlimit.Limit(1 << 30), (1 << 30) / 10 * 8, "819MiB", "cgroup"},
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
