package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// requestTimeout limits one request.
const requestTimeout = 30 * time.Second

// request is one HTTP request.
type request struct {
	method, path string
	body         []byte
	session      string // the cookie of a signed-in member, for pages
	encoding     string // that the client accepts
	key          string // instead of that of the client
}

// client is one keep-alive connection. It does less than the client of net/http, which would
// use as much CPU as the service.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	head string // headers of every request
	key  string
	body bytes.Buffer // of the last response
}

// dial connects to a server until ctx ends. Requests carry the key unless they have their own.
func dial(ctx context.Context, address, key string) (*client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	head := " HTTP/1.1\r\nHost: " + address + "\r\nAccept: application/json\r\n"
	return &client{conn: conn, in: bufio.NewReaderSize(conn, 32<<10), head: head, key: key}, nil
}

// do sends a request, reads the response and returns its status.
func (c *client) do(r request) (status int, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return 0, err
	}
	head := r.method + " " + r.path + c.head + "Authorization: Bearer " + cmp.Or(r.key, c.key) + "\r\n"
	if r.session != "" {
		head += "Cookie: storeroom-insecure=" + r.session + "\r\n"
	}
	if r.encoding != "" {
		head += "Accept-Encoding: " + r.encoding + "\r\n"
	}
	if r.body != nil {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(r.body))
	}
	if _, err := c.conn.Write(append([]byte(head+"\r\n"), r.body...)); err != nil {
		return 0, fmt.Errorf("send: %w", err)
	}
	response, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return 0, fmt.Errorf("read the response: %w", err)
	}
	defer response.Body.Close()
	c.body.Reset()
	if _, err := c.body.ReadFrom(response.Body); err != nil {
		return 0, fmt.Errorf("read the body: %w", err)
	}
	return response.StatusCode, nil
}
