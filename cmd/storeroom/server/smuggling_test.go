package server

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
)

// In each case a proxy and the server can disagree about where the first request ends. The server answers the first
// request and closes the connection, so that it never answers the second.
func TestNothingIsReadAfterAnAmbiguousRequest(t *testing.T) {
	t.Parallel()
	const second = "GET /healthz HTTP/1.1\r\nHost: shop\r\n\r\n"
	const post, chunked = "POST /healthz HTTP/1.1\r\nHost: shop\r\n", "Transfer-Encoding: chunked\r\n"
	i, _ := mustOpen(t, "")
	address := i.mustServe(t, unchanged)
	for _, test := range []struct {
		name, first string
		status      int
	}{
		{"Content-Length and Transfer-Encoding", post + "Content-Length: 5\r\n" + chunked + "\r\n0\r\n\r\n", 405},
		{"Transfer-Encoding and Content-Length", post + chunked + "Content-Length: 5\r\n\r\n0\r\n\r\n", 405},
		{"Transfer-Encoding in a continued line",
			post + "Content-Length: 5\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 405},
		{"Transfer-Encoding in HTTP/1.0",
			"POST /healthz HTTP/1.0\r\nHost: shop\r\nConnection: keep-alive\r\n" + chunked + "\r\n", 405},
		{"OPTIONS of all paths",
			"OPTIONS * HTTP/1.1\r\nHost: shop\r\nContent-Length: 5\r\n" + chunked + "\r\n0\r\n\r\n", 404},
		{"two lengths", post + "Content-Length: 0\r\nContent-Length: 5\r\n\r\n", 400},
		{"a list of lengths", post + "Content-Length: 0, 5\r\n\r\n", 400},
		{"a length with a sign", post + "Content-Length: +0\r\n\r\n", 400},
		{"two transfer encodings", post + chunked + chunked + "\r\n0\r\n\r\n", 501},
		{"a list of transfer encodings", post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 501},
		{"an unknown transfer encoding", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501},
		{"a blank before the colon", post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400},
		{"an invalid chunk size", post + chunked + "\r\n0x0\r\n\r\n", 405},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn := mustDial(t, address)
			if _, err := io.WriteString(conn, test.first+second); err != nil {
				t.Fatal(err)
			}
			reader := bufio.NewReader(conn)
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != test.status {
				t.Errorf("= %d, %v, want %d", response.StatusCode, err, test.status)
			}
			rest, err := io.ReadAll(reader)
			if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
				t.Error("the connection is still open")
			}
			if len(rest) > 0 {
				t.Errorf("then received %q, want nothing", rest)
			}
		})
	}
}
