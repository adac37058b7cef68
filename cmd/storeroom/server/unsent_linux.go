package server

import (
	"net"

	"golang.org/x/sys/unix"
)

// maxUnsent is how many bytes Linux keeps for a connection beyond those that its client can receive. Package api does
// not count smaller parts of a response as memory of the tenant, because writing them does not wait for the client.
const maxUnsent = 256 << 10

// limitUnsent applies maxUnsent to a connection. By default, Linux keeps up to 4 MiB for a client that does not read,
// and copying that much for many clients at once delays all requests.
func limitUnsent(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // fails if the connection has ended
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent)
		})
	}
}
