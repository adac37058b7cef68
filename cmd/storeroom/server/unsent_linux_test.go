package server

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

func TestLinuxKeepsLittleForAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	listener := mustListen(t)
	client := mustDial(t, listener.Addr().String())
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	limitConnections(&http.Server{}, 1).track(conn, http.StateNew)
	if err := errors.Join(client.SetReadBuffer(4<<10), conn.SetWriteDeadline(time.Now().Add(time.Second))); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Write(make([]byte, 16<<20)); err == nil || n > 4*maxUnsent {
		t.Errorf("wrote %d bytes, %v, want at most %d", n, err, 4*maxUnsent)
	}
}
