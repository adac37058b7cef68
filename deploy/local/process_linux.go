package local

import "syscall"

// reachCapabilities are tried in turn until the account reaches its directory:
// none, CAP_DAC_READ_SEARCH (read anything) and CAP_DAC_OVERRIDE, which is all
// that root has in many containers. PostgreSQL refuses root, not a capability.
var reachCapabilities = [][]uintptr{nil, {2}, {1}}

// attributes puts a child into a process group of its own, so that Ctrl-C in
// the terminal does not reach it before us, runs it as the account, and has the
// kernel send it death when the thread that started it ends.
func (a account) attributes(death syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: death, AmbientCaps: a.capabilities}
	if a.other {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}
