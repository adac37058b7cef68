//go:build unix && !linux

package local

import "syscall"

// reachCapabilities contains only the empty set, because only Linux has capabilities.
var reachCapabilities = [][]uintptr{nil}

// attributes runs a child as the account in a new process group. Only Linux can signal a
// child when its parent ends: elsewhere a kill -9 of this process leaves the servers
// running, and the next start returns an error.
func (a account) attributes(syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if a.other {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}
