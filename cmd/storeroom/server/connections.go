package server

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// maxConnections bounds the memory of connections: see "Client connections" in deploy/README.md.
const maxConnections = 2500

// connections closes a connection for each new one beyond most: the longest waiting connection of the group with most
// of them. A connection waits for its client until a request is complete, with its body, and while the client reads a
// response.
type connections struct {
	most int

	mu      sync.Mutex
	open    map[net.Conn]*connection
	waiting map[group]*list.List // of net.Conn; the first has waited longest
}

// group separates clients from the connections of other addresses, and from connections that never completed a request.
type group struct {
	address netip.Prefix // for IPv6 the /64 prefix
	used    bool
}

type connection struct {
	group
	waiting *list.Element // nil while the server works on a request
}

// limitConnections limits the connections of a server that serves HTTP/1.1 only.
func limitConnections(server *http.Server, most int) *connections {
	c := &connections{most: most, open: map[net.Conn]*connection{}, waiting: map[group]*list.List{}}
	server.ConnState = c.track
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}
	return c
}

type connKey struct{}

// wait begins or ends a wait for the client of the request with that context.
func (c *connections) wait(request context.Context, begins bool) {
	conn, _ := request.Value(connKey{}).(net.Conn)
	c.mu.Lock()
	defer c.mu.Unlock()
	tracked := c.open[conn]
	switch {
	case tracked == nil: // after closeOne
	case !begins:
		c.stopWaiting(tracked)
	case tracked.waiting == nil:
		c.startWaiting(conn, tracked)
	}
}

// track implements http.Server.ConnState.
func (c *connections) track(conn net.Conn, state http.ConnState) {
	if state == http.StateNew {
		limitUnsent(conn)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if state == http.StateNew {
		if len(c.open) >= c.most {
			c.closeOne()
		}
		c.open[conn] = &connection{group: group{address: addressOf(conn)}}
	}
	tracked := c.open[conn]
	if tracked == nil { // after closeOne
		return
	}
	c.stopWaiting(tracked)
	switch state {
	case http.StateNew, http.StateIdle:
		tracked.used = state == http.StateIdle
		c.startWaiting(conn, tracked)
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
}

func (c *connections) startWaiting(conn net.Conn, tracked *connection) {
	if c.waiting[tracked.group] == nil {
		c.waiting[tracked.group] = list.New()
	}
	tracked.waiting = c.waiting[tracked.group].PushBack(conn)
}

func (c *connections) stopWaiting(tracked *connection) {
	if tracked.waiting == nil {
		return
	}
	all := c.waiting[tracked.group]
	all.Remove(tracked.waiting)
	tracked.waiting = nil
	if all.Len() == 0 {
		delete(c.waiting, tracked.group)
	}
}

func (c *connections) closeOne() {
	most := list.New()
	for _, all := range c.waiting {
		if all.Len() > most.Len() {
			most = all
		}
	}
	if most.Len() == 0 {
		return
	}
	conn := most.Front().Value.(net.Conn)
	c.stopWaiting(c.open[conn])
	delete(c.open, conn)
	_ = conn.Close() // fails if the server closes it at the same time
	connectionsClosed.Add(context.Background(), 1)
}

// addressOf returns the zero prefix if the connection does not use TCP.
func addressOf(conn net.Conn) netip.Prefix {
	peer, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
	address := peer.Addr().Unmap()
	prefix, _ := address.Prefix(min(64, address.BitLen()))
	return prefix
}
