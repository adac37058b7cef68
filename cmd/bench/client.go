package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	contentType  string // of the body; empty means JSON
	session      string // the cookie of a signed-in member, for pages
	encoding     string // that the client accepts
	key          string // instead of that of the client
}

func get(path string) request { return request{method: "GET", path: path} }

// by returns the request with a key.
func (r request) by(key string) request {
	r.key = key
	return r
}

// succeeded reports whether all of a request was done: 207 means that some rows of a bulk request failed.
func succeeded(status int) bool { return status/100 == 2 && status != http.StatusMultiStatus }

// fetch sends a request that is not repeated, and copies the body of its response, which must be a success.
func fetch(ctx context.Context, address string, r request, body io.Writer) {
	sent := must(http.NewRequestWithContext(ctx, r.method, "http://"+address+r.path, bytes.NewReader(r.body)))
	sent.Header.Set("Authorization", "Bearer "+r.key)
	sent.Header.Set("Content-Type", cmp.Or(r.contentType, "application/json"))
	sent.Header.Set("Accept-Encoding", cmp.Or(r.encoding, "identity"))
	response := must(http.DefaultClient.Do(sent))
	defer response.Body.Close()
	if !succeeded(response.StatusCode) {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 500))
		check(fmt.Errorf("%s %s = %d %s", r.method, r.path, response.StatusCode, text))
	}
	must(io.Copy(body, response.Body))
}

// fetchData returns the data of a JSON response.
func fetchData[T any](ctx context.Context, address string, r request) T {
	var body bytes.Buffer
	fetch(ctx, address, r, &body)
	var response struct{ Data T }
	check(json.Unmarshal(body.Bytes(), &response))
	return response.Data
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
