package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// requestTimeout limits one request.
const requestTimeout = 30 * time.Second

// request is one HTTP request.
type request struct {
	method, path string
	body         []byte
}

// client is one keep-alive connection. It parses only the status and the length of a
// response, because the client of net/http would use as much CPU as the service.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte // buffer of the request
	head []byte // headers of every request
	body []byte // of the last response
}

// dial connects to a server until ctx ends. Each request carries the key.
func dial(ctx context.Context, address, key string) (*client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	head := " HTTP/1.1\r\nHost: " + address + "\r\nAccept: application/json\r\nAuthorization: Bearer " + key + "\r\n"
	return &client{conn: conn, in: bufio.NewReaderSize(conn, 32<<10), head: []byte(head)}, nil
}

// do sends a request, reads the response and returns its status.
func (c *client) do(r request) (status int, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return 0, err
	}
	b := append(c.out[:0], r.method...)
	b = append(append(b, ' '), r.path...)
	b = append(b, c.head...)
	if r.body != nil {
		b = append(b, "Content-Type: application/json\r\nContent-Length: "...)
		b = append(strconv.AppendInt(b, int64(len(r.body)), 10), "\r\n"...)
	}
	b = append(append(b, "\r\n"...), r.body...)
	c.out = b
	if _, err := c.conn.Write(b); err != nil {
		return 0, fmt.Errorf("send: %w", err)
	}
	return c.response()
}

// response reads one response. A response without Content-Length has no body.
func (c *client) response() (status int, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, fmt.Errorf("read the status: %w", err)
	}
	if len(line) < 12 {
		return 0, fmt.Errorf("status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, fmt.Errorf("status line %q: %w", line, err)
	}
	length := 0
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, fmt.Errorf("read the headers: %w", err)
		}
		if len(line) <= 2 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, fmt.Errorf("header %q: %w", line, err)
			}
		}
	}
	c.body = append(c.body[:0], make([]byte, length)...)
	if _, err := io.ReadFull(c.in, c.body); err != nil {
		return 0, fmt.Errorf("read the body: %w", err)
	}
	return status, nil
}
