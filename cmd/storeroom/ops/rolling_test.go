//go:build ops

package ops

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/csv"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const drain = 5 * time.Second // the default

// Two instances are replaced one after the other under load: persistent and new connections, HTTP/1.1 and HTTP/2,
// reads, writes, reports and exports, some so slow that they run during the shutdown. No request may fail.
func TestARollingRestartBehindHAProxyFailsNoRequest(t *testing.T) {
	h := newService(
		t, "STOREROOM_DRAIN="+drain.String(), "STOREROOM_TRUSTED_PROXIES=127.0.0.1", "STOREROOM_LOG_LEVEL=warn")
	k := h.tenant(t, "acme", 10_000_000)
	ports := []int{freePort(t), freePort(t)}
	instances := []*instance{h.startInstance(t, ports[0]), h.startInstance(t, ports[1])}
	proxy := startHAProxy(t, ports)
	l := newLoad(t, mustProducts(t, proxy.client(t, k.Key, true, false)), nil)
	for n := range 5 {
		l.start(proxy.client(t, k.Key, n%2 == 0, false), fmt.Sprintf("kept-%d", n), mixed)
		l.start(proxy.client(t, k.Key, n%2 == 0, true), fmt.Sprintf("fresh-%d", n), mixed)
	}
	l.start(proxy.client(t, k.Key, true, false), "report", reports)
	l.start(proxy.client(t, k.Key, true, true), "export", exports)
	slow := h.tenant(t, "slow", 10_000_000)
	files := []*slowExport{
		startSlowExport(t, l, proxy.client(t, slow.Key, false, false)),
		startSlowExport(t, l, proxy.client(t, slow.Key, false, false)),
	}
	longest := time.Duration(0)
	for range 2 {
		for n, port := range ports {
			l.awaitMore(t, 200)
			for _, e := range files {
				e.awaitStart(t)
			}
			instances[n].signal(t, syscall.SIGTERM)
			asked := time.Now()
			instances[n].mustExit(t)
			longest = max(longest, time.Since(asked))
			// The next instance stops as soon as this one is ready, before HAProxy has checked it.
			instances[n] = h.startInstance(t, port)
		}
	}
	l.awaitMore(t, 200)
	l.finish(t)
	t.Logf(
		"%d slow exports were complete; a shutdown took up to %v", files[0].whole+files[1].whole,
		longest.Round(time.Millisecond))
	if longest < drain+time.Second {
		t.Errorf("every shutdown took at most %v, so none waited for an export", longest)
	}
	proxy.mustHaveServed(t)
	for _, i := range instances {
		i.signal(t, syscall.SIGTERM)
	}
	for _, i := range instances {
		i.mustExit(t)
	}
	l.mustCountOnce(t, h, "acme")
}

// slowExport downloads one file after the other, each of 24 MB in about twelve seconds. This exceeds all buffers, and
// the drain time.
type slowExport struct {
	read  atomic.Int64 // bytes of the current file
	whole int          // complete files; valid after the load has finished
}

const exportRows, rowSize = 400, 60_000

func startSlowExport(t *testing.T, l *load, c client) *slowExport {
	t.Helper()
	var items []map[string]any
	for n := range exportRows {
		items = append(
			items,
			map[string]any{"sku": fmt.Sprintf("BULKY-%d", n), "name": "Bulky", "price": 1,
				"description": strings.Repeat("Long. ", rowSize/6)})
	}
	c.must(t, "POST", "/api/products/bulk", map[string]any{"items": items}, nil)
	s := &slowExport{}
	l.all.Go(func() {
		for !l.over.Load() {
			if rows, err := s.export(l.ctx, c); err != nil || rows != 1+exportRows {
				l.fail("slow export: %d rows of %d: %v", rows, 1+exportRows, err)
				continue
			}
			s.whole++
		}
	})
	return s
}

func (s *slowExport) export(ctx context.Context, c client) (rows int, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", c.base+"/api/products/export?search=bulky", nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Accept-Encoding", "identity") // compressed, the file would fit in the buffers
	response, err := c.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	s.read.Store(0)
	lines := csv.NewReader(bufio.NewReaderSize(reader(func(b []byte) (int, error) {
		n, err := response.Body.Read(b)
		s.read.Add(int64(n))
		time.Sleep(time.Duration(n) * time.Second / 2_000_000) // two megabytes a second
		return n, err
	}), 64<<10))
	for ; ; rows++ {
		if _, err := lines.Read(); err == io.EOF {
			return rows, nil
		} else if err != nil {
			return rows, err
		}
	}
}

// reader is an io.Reader.
type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }

// awaitStart waits until a download has begun, but is far from complete.
func (s *slowExport) awaitStart(t *testing.T) {
	t.Helper()
	await(t, 40*time.Second, "a slow export to begin", func() bool {
		read := s.read.Load()
		return read > 0 && read < exportRows*rowSize/8
	})
}

// haproxy runs HAProxy with the configuration in deploy/haproxy.
type haproxy struct {
	*process
	base    string
	control string // path of its socket
	trusted *x509.CertPool
}

// startHAProxy replaces the paths and addresses in deploy/haproxy/haproxy.cfg and waits until both instances passed a
// health check.
func startHAProxy(t *testing.T, ports []int) *haproxy {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile("../../../deploy/haproxy/haproxy.cfg")
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	p := &haproxy{
		base: "https://127.0.0.1:" + strconv.Itoa(port), control: filepath.Join(dir, "control"),
		trusted: x509.NewCertPool(),
	}
	config := string(text)
	for _, pair := range [][2]string{
		{"    user haproxy\n    group haproxy\n", ""},
		{"/run/haproxy/admin.sock", p.control},
		{"bind :80\n", fmt.Sprintf("bind 127.0.0.1:%d\n", freePort(t))},
		{"bind :443 ", fmt.Sprintf("bind 127.0.0.1:%d ", port)},
		{"/etc/haproxy/certs/", p.certificate(t, dir)},
		{"10.0.0.11:8080", fmt.Sprintf("127.0.0.1:%d", ports[0])},
		{"10.0.0.12:8080", fmt.Sprintf("127.0.0.1:%d", ports[1])},
	} {
		if n := strings.Count(config, pair[0]); n != 1 {
			t.Fatalf("haproxy.cfg contains %q %d times, want once", pair[0], n)
		}
		config = strings.Replace(config, pair[0], pair[1], 1)
	}
	path := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p.process = startProcess(t, dir, nil, mustFindProgram(t, "haproxy"), "-db", "-f", path)
	await(t, 10*time.Second, "both instances to pass a check", func() bool {
		return p.mustRun(t) && strings.Count(p.ask("show stat"), "L7OK") >= 2
	})
	return p
}

// certificate writes a file with a key and a self-signed certificate, which the clients trust.
func (p *haproxy) certificate(t *testing.T, dir string) string {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Storeroom"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public})
	p.trusted.AppendCertsFromPEM(text)
	path := filepath.Join(dir, "storeroom.pem")
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (p *haproxy) client(t *testing.T, key string, two, fresh bool) client {
	t.Helper()
	c := newClient(t, p.base, key, fresh)
	transport := c.http.Transport.(*http.Transport)
	transport.TLSClientConfig, transport.ForceAttemptHTTP2 = &tls.Config{RootCAs: p.trusted}, two
	return c
}

// ask sends a command to the control socket and returns the response, or "" if HAProxy is not ready.
func (p *haproxy) ask(command string) string {
	conn, err := net.DialTimeout("unix", p.control, time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // the caller polls
	fmt.Fprintln(conn, command)
	var response strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := conn.Read(buffer)
		response.Write(buffer[:n])
		if err != nil {
			return response.String()
		}
	}
}

// mustHaveServed requires that HAProxy saw both instances down at least twice, and that each answered many requests.
func (p *haproxy) mustHaveServed(t *testing.T) {
	t.Helper()
	lines := strings.Split(p.ask("show stat"), "\n")
	column := map[string]int{}
	for n, name := range strings.Split(strings.TrimPrefix(lines[0], "# "), ",") {
		column[name] = n
	}
	seen := 0
	for _, line := range lines[1:] {
		cells := strings.Split(line, ",")
		if len(cells) < len(column) || cells[column["pxname"]] != "storeroom" || cells[column["svname"]] == "BACKEND" {
			continue
		}
		seen++
		number := func(name string) int { n, _ := strconv.Atoi(cells[column[name]]); return n }
		t.Logf(
			"instance %s: %d responses, %d times down, %d redispatched", cells[column["svname"]], number("stot"),
			number("chkdown"), number("wredis"))
		if number("chkdown") < 2 || number("stot") < 500 {
			t.Errorf(
				"instance %s returned %d responses and was down %d times, want at least 500 and 2", cells[column["svname"]],
				number("stot"), number("chkdown"))
		}
	}
	if seen != 2 {
		t.Errorf("HAProxy lists %d instances, want 2: %s", seen, lines)
	}
}
