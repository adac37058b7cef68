package local

import "syscall"

// reachCapabilities are tried in turn until the account can enter its directory: none,
// CAP_DAC_READ_SEARCH, and CAP_DAC_OVERRIDE, the only one that root has in many
// containers. PostgreSQL refuses root but accepts capabilities.
var reachCapabilities = [][]uintptr{nil, {2}, {1}}

// attributes runs a child as the account in a new process group, so that Ctrl-C in the
// terminal does not reach it directly. The kernel sends it death when the thread that
// started it ends.
func (a account) attributes(death syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death, AmbientCaps: a.capabilities}
	if a.other {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}
