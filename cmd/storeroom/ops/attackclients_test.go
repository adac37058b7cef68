package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// mainVariable makes a test program run an attack instead of its tests.
const mainVariable = "STOREROOM_TEST_ATTACK"

// order is the input of the client process on standard input.
type order struct {
	Attack  string
	Address string // of the service
	Tenants []tenant
	// Program, Dir and Environ run a command of the service.
	Program string
	Dir     string
	Environ []string
}

// clients are the hostile clients of one attack.
type clients struct {
	order
	ctx  context.Context
	http *http.Client

	mu        sync.Mutex
	responses map[string]int // by status
}

// startClients starts a process that attacks until stop is called, which returns the number of responses by status. The
// process has the lowest priority, because real attackers do not use the CPUs of the service. It has a separate
// session, because Linux may divide the CPUs among sessions before it compares priorities.
func startClients(t *Target, o order) (stop func() map[string]int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "chrt", "--idle", "0", os.Args[0])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env, cmd.Stderr = append(os.Environ(), mainVariable+"=1"), os.Stderr
	stdin, stdinErr := cmd.StdinPipe()
	stdout, stdoutErr := cmd.StdoutPipe()
	if err := errors.Join(stdinErr, stdoutErr, cmd.Start(), json.NewEncoder(stdin).Encode(o)); err != nil {
		t.Fatal(err)
	}
	return func() (responses map[string]int) {
		t.Helper()
		err := errors.Join(stdin.Close(), json.NewDecoder(stdout).Decode(&responses), cmd.Wait())
		if err != nil {
			t.Errorf("the process of the clients: %v", err)
		}
		return responses
	}
}

// Main attacks until standard input ends, if this process was started for that. A TestMain must call it first.
func Main() {
	if os.Getenv(mainVariable) == "" {
		return
	}
	_ = os.WriteFile("/proc/self/autogroup", []byte("19"), 0) // fails if the CPUs are not divided among sessions
	ctx, stop := context.WithCancel(context.Background())
	c := &clients{
		ctx: ctx, http: &http.Client{Transport: newTransport("127.0.2.1", 1000)}, responses: map[string]int{},
	}
	input := json.NewDecoder(os.Stdin)
	if err := input.Decode(&c.order); err != nil {
		panic(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	i := slices.IndexFunc(All, func(a Attack) bool { return a.Name == c.Attack })
	All[i].act(c)
	if err := json.NewEncoder(os.Stdout).Encode(c.responses); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// count counts a response.
func (c *clients) count(status string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.responses[status]++
}

// times runs f in n goroutines and waits for all.
func (c *clients) times(n int, f func(n int)) {
	each(make([]struct{}, n), func(n int, _ struct{}) { f(n) })
}

// each calls f for all elements concurrently.
func each[T any](all []T, f func(n int, one T)) {
	var done sync.WaitGroup
	for n, one := range all {
		done.Go(func() { f(n, one) })
	}
	done.Wait()
}

// repeat runs f in n goroutines again and again until the attack ends.
func (c *clients) repeat(n int, f func(n, round int)) {
	c.times(n, func(n int) {
		for round := 0; c.ctx.Err() == nil; round++ {
			f(n, round)
			time.Sleep(5 * time.Millisecond) // a refusal may take no time
		}
	})
}

// newTransport returns a transport that connects from this address.
func newTransport(address string, connections int) *http.Transport {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: connections}
}

// fromAddresses returns clients with different addresses.
func (c *clients) fromAddresses(count int) (all []*http.Client) {
	for n := range count {
		all = append(all, &http.Client{Transport: newTransport(fmt.Sprintf("127.0.2.%d", n+2), 32)})
	}
	return all
}

// key returns the key of one of the tenants, or "".
func (c *clients) key(n int) string {
	if len(c.Tenants) == 0 {
		return ""
	}
	return c.Tenants[n%len(c.Tenants)].Key
}

// request returns a request of a tenant.
func (c *clients) request(n int, method, path, body string) *http.Request {
	return newRequest(c.ctx, c.Address, c.key(n), method, path, body)
}

// newRequest returns a request with a key, or without one if it is empty.
func newRequest(ctx context.Context, address, key, method, path, body string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		panic(err) // all paths are valid
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return r
}

func (c *clients) get(n int, path string)        { c.do(c.http, c.request(n, "GET", path, "")) }
func (c *clients) post(n int, path, body string) { c.do(c.http, c.request(n, "POST", path, body)) }

// do sends a request, discards the response and counts its status.
func (c *clients) do(client *http.Client, r *http.Request) {
	response, err := client.Do(r)
	if err != nil {
		c.count("no response")
		return
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // fails if the service gives up
	c.count(fmt.Sprint(response.StatusCode))
}

// header returns the rest of the header of a request of a tenant. A negative length is not sent.
func (c *clients) header(n, length int) string {
	text := "Host: shop\r\nContent-Type: application/json\r\n"
	if key := c.key(n); key != "" {
		text += "Authorization: Bearer " + key + "\r\n"
	}
	if length >= 0 {
		text += fmt.Sprintf("Content-Length: %d\r\n", length)
	}
	return text + "\r\n"
}

// smallBuffer makes the receive buffer of a connection as small as the system allows. It is for clients that do not
// read all responses: others would use more CPU time with it than the service.
func smallBuffer(_, _ string, raw syscall.RawConn) (err error) {
	controlErr := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1)
	})
	return errors.Join(err, controlErr)
}

// dial opens a connection that closes when the attack ends. Control may be nil. The result is nil if the service does
// not accept the connection.
func (c *clients) dial(control func(network, address string, raw syscall.RawConn) error) net.Conn {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 2, 1)}, Control: control}
	conn, err := dialer.DialContext(c.ctx, "tcp", c.Address)
	if err != nil {
		c.count("no connection")
		return nil
	}
	context.AfterFunc(c.ctx, func() { conn.Close() })
	return conn
}

// hold sends a header and a body, and keeps the connection until the attack ends. It reads only the status.
func (c *clients) hold(header, body string) {
	conn := c.dial(smallBuffer)
	if conn == nil {
		return
	}
	go func() {
		_, _ = io.WriteString(conn, header) // fails if the service closes the connection
		_, _ = io.WriteString(conn, body)
	}()
	c.countStatus(conn)
	<-c.ctx.Done()
}

// countStatus reads and counts the status of a response.
func (c *clients) countStatus(conn net.Conn) {
	status := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(conn, status); err != nil {
		c.count("no response")
		return
	}
	c.count(string(status[len("HTTP/1.1 "):]))
}

// readSlowly sends a request and reads a kilobyte of the response every 100 ms.
func (c *clients) readSlowly(request string) {
	conn := c.dial(smallBuffer)
	if conn == nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, request)
	c.countStatus(conn)
	for err := error(nil); err == nil; time.Sleep(100 * time.Millisecond) {
		_, err = conn.Read(make([]byte, 1024))
	}
}

// readAll sends requests and discards the responses until the service closes the connection.
func (c *clients) readAll(requests string) {
	conn := c.dial(nil)
	if conn == nil {
		return
	}
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, requests) }()
	c.countStatus(conn)
	_, _ = io.Copy(io.Discard, conn)
}

// trickle sends a header, and then a byte of the rest at a time.
func (c *clients) trickle(header, rest string, pause time.Duration) {
	conn := c.dial(nil)
	if conn == nil {
		return
	}
	defer conn.Close()
	_, err := io.WriteString(conn, header)
	for n := 0; n < len(rest) && err == nil; n++ {
		time.Sleep(pause)
		_, err = io.WriteString(conn, rest[n:n+1])
	}
	c.count("closed")
}

// openFiles returns how many connections this process may open, at most the wanted number. The limit of the instance is
// the same.
func (c *clients) openFiles(wanted int) int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		panic(err)
	}
	most := min(wanted, int(limit.Cur)-1000)
	c.count(fmt.Sprintf("%d connections", most))
	return most
}
