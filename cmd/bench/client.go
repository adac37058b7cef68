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

// answerWithin bounds one request; nothing here may take so long.
const answerWithin = 30 * time.Second

// request is what one client sends next.
type request struct {
	method, path string
	body         []byte
}

// client is one keep-alive connection. It writes requests and reads no more of an
// answer than its status and length: on two cores the client of net/http would
// cost as much as the service.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte // the request, the buffer kept
	head []byte // the headers that every request has
	body []byte // of the last answer, the buffer kept
}

// dial connects to a server; key is sent with each request.
func dial(ctx context.Context, address, key string) (*client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	head := " HTTP/1.1\r\nHost: " + address + "\r\nAccept: application/json\r\nAuthorization: Bearer " + key + "\r\n"
	return &client{conn: conn, in: bufio.NewReaderSize(conn, 32<<10), head: []byte(head)}, nil
}

func (c *client) close() { c.conn.Close() }

// do sends a request, waits for the whole answer and returns its status.
func (c *client) do(r request) (status int, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(answerWithin)); err != nil {
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
	return c.answer()
}

// answer reads one answer. Those of the service have a length, but for those that
// have no body.
func (c *client) answer() (status int, err error) {
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
