package db_test

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// Work in the background computes after each statement. The runtime must see what clients send meanwhile.
func TestComputingInTheBackgroundDoesNotDelayClients(t *testing.T) {
	t.Parallel()
	if !dbtest.Alone(t) {
		return
	}
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "shop")
	server, client := connect(t)
	var received atomic.Bool
	go func() {
		for b := make([]byte, 1); ; received.Store(true) {
			if _, err := server.Read(b); err != nil {
				return
			}
		}
	}()
	ctx, seen := db.InBackground(t.Context()), 0
	for range 50 {
		if _, err := db.One[struct{ N int }](ctx, d.DB, tenant.ID, `select 1 as n from pg_sleep(0.005)`); err != nil {
			t.Fatal(err)
		}
		received.Store(false)
		if _, err := client.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); time.Since(began) < 5*time.Millisecond && !received.Load(); { // computes
		}
		if received.Load() {
			seen++
		}
		for !received.Load() {
			time.Sleep(time.Millisecond)
		}
	}
	if seen == 0 {
		t.Error("no data was received while a goroutine in the background computed, 50 times")
	}
}

// connect opens a TCP connection.
func connect(t *testing.T) (server, client net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server, client
}
