package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

const fewConnections = 40

// mustServeFew serves with a limit of fewConnections. A request for /wait runs until the channel is closed.
func mustServeFew(t *testing.T) (c *connections, address string, release chan struct{}) {
	t.Helper()
	release = make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			<-release
		}
	})}
	c = limitConnections(server, fewConnections)
	listener := mustListen(t)
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return c, listener.Addr().String(), release
}

func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

func (c *connections) countWaiting() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, all := range c.waiting {
		n += all.Len()
	}
	return n
}

// has reports whether the server has accepted a connection of a client.
func (c *connections) has(client net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		if conn.RemoteAddr().String() == client.LocalAddr().String() {
			return true
		}
	}
	return false
}

// mustDialFrom is mustDial with a source address.
func mustDialFrom(t *testing.T, source, address string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// request sends a request on a connection and reads the response.
func request(conn net.Conn, path string) error {
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: shop\r\n\r\n", path); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	if response.StatusCode != 200 {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return response.Body.Close()
}

// A flood of sockets must not cost other clients their connections: neither one that is in use, nor an idle one that
// has another address or that has sent a request, if the flood has not.
func TestAFloodOfSocketsClosesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		idle string // source of an idle connection
		open func(net.Conn) error
	}{
		{"without a request", "127.0.0.1", func(net.Conn) error { return nil }},
		{"with an incomplete header", "127.0.0.1", func(conn net.Conn) error {
			_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost:")
			return err
		}},
		{"after a request", "127.0.0.2", func(conn net.Conn) error { return request(conn, "/") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, address, _ := mustServeFew(t)
			used, idle := mustDial(t, address), mustDialFrom(t, test.idle, address)
			if err := request(idle, "/"); err != nil {
				t.Fatal(err)
			}
			var flood []net.Conn
			for i := range 3 * fewConnections {
				if i%(fewConnections/4) == 0 {
					if i > 0 {
						waitUntil(t, "the server accepts the sockets", func() bool { return c.has(flood[i-1]) })
					}
					if err := request(used, "/"); err != nil {
						t.Fatalf("a connection in use after %d sockets: %v", i, err)
					}
				}
				flood = append(flood, mustDial(t, address))
				if err := test.open(flood[i]); err != nil {
					t.Fatal(err)
				}
			}
			if err := request(idle, "/"); err != nil {
				t.Errorf("an idle connection: %v", err)
			}
			if n := c.count(); n > fewConnections {
				t.Errorf("%d connections are open, want at most %d", n, fewConnections)
			}
			if n, err := flood[0].Read(make([]byte, 1)); err == nil || n > 0 {
				t.Errorf("the first socket of the flood = %d, %v, want it closed", n, err)
			}
		})
	}
}

// The connection of a running request is never closed, and new clients are served in addition.
func TestAFloodOfSocketsInterruptsNoRequest(t *testing.T) {
	t.Parallel()
	c, address, release := mustServeFew(t)
	running := make(chan error, fewConnections)
	for range cap(running) {
		conn := mustDial(t, address)
		go func() { running <- request(conn, "/wait") }()
	}
	waitUntil(t, "every request runs", func() bool { return c.count() == fewConnections && c.countWaiting() == 0 })
	for range 3 * fewConnections {
		mustDial(t, address)
	}
	if err := request(mustDial(t, address), "/"); err != nil {
		t.Errorf("a new client: %v", err)
	}
	close(release)
	for range cap(running) {
		if err := <-running; err != nil {
			t.Errorf("a running request: %v", err)
		}
	}
}

// A client that does not send its body, or does not read its response, does not protect its connection.
func TestAFloodOfSlowClientsClosesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	var c *connections
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.wait(r.Context(), true)
		_, err := io.Copy(io.Discard, r.Body)
		c.wait(r.Context(), false)
		if err == nil {
			c.wait(r.Context(), true)
			w.Write(make([]byte, 64<<20))
		}
	})}
	c = limitConnections(server, fewConnections)
	listener := mustListen(t)
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	address := listener.Addr().String()
	idle := mustDialFrom(t, "127.0.0.2", address)
	waitUntil(t, "the server accepts the idle connection", func() bool { return c.has(idle) })
	for i := range 3 * fewConnections {
		body := []string{"x", ""}[i%2] // half of them send one byte of two, half of them read nothing
		conn := mustDial(t, address)
		_, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: shop\r\nContent-Length: %d\r\n\r\n%s", 2*len(body), body)
		if err != nil {
			t.Fatal(err)
		}
		waitUntil(t, "every connection waits for its client", func() bool {
			return c.has(conn) && c.countWaiting() == c.count()
		})
	}
	if n := c.count(); n > fewConnections {
		t.Errorf("%d connections are open, want at most %d", n, fewConnections)
	}
	if !c.has(idle) {
		t.Error("the idle connection of another address was closed")
	}
}

// Connections that clients close are forgotten.
func TestClosedConnectionsAreForgotten(t *testing.T) {
	t.Parallel()
	c, address, _ := mustServeFew(t)
	for range 3 {
		conn := mustDial(t, address)
		if err := request(conn, "/"); err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	mustDial(t, address).Close()
	waitUntil(t, "nothing is kept", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.open)+len(c.waiting) == 0
	})
}
