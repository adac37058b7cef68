//go:build unix && !linux

package local

import "syscall"

// reachCapabilities has only the empty set: there are none beside Linux.
var reachCapabilities = [][]uintptr{nil}

// attributes puts a child into a process group of its own and runs it as the
// account. The signal on our death is known to Linux alone: elsewhere a kill -9
// of this process leaves the servers, and the next start says so.
func (a account) attributes(syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if a.other {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}
