package main

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// tap hands the connections to a database through and notes when rows come back.
type tap struct {
	listener net.Listener
	rows     atomic.Int64 // when they began to, in Unix nanoseconds; 0 is not yet
}

// openTap turns the runtime role's road to d through a tap.
func openTap(ctx context.Context, d *database) (*tap, error) {
	config, err := pgx.ParseConfig(d.runtime)
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(d.runtime)
	if err != nil {
		return nil, err
	}
	u.Host = listener.Addr().String()
	d.runtime = u.String()
	t := &tap{listener: listener}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go t.pass(near, config)
		}
	}()
	return t, nil
}

func (t *tap) close() { t.listener.Close() }

// pass copies both ways until one side closes. PostgreSQL sends what is small
// together; the first eight kilobytes are rows.
func (t *tap) pass(near net.Conn, config *pgx.ConnConfig) {
	defer near.Close()
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	far, err := config.DialFunc(context.Background(), network, address)
	if err != nil {
		return
	}
	defer far.Close()
	go func() {
		defer far.Close()
		io.Copy(far, near)
	}()
	for b := make([]byte, 64<<10); ; {
		n, err := far.Read(b)
		if n >= 8<<10 {
			t.rows.CompareAndSwap(0, time.Now().UnixNano())
		}
		if _, failed := near.Write(b[:n]); failed != nil || err != nil {
			return
		}
	}
}
