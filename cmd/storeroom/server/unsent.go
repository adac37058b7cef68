//go:build !linux

package server

import "net"

// limitUnsent does nothing on other systems.
func limitUnsent(net.Conn) {}
