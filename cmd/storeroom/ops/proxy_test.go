//go:build ops

package ops

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// balancer is a proxy with the example of its configuration in deploy.
type balancer struct {
	*process
	dir     string
	port    int
	base    string
	trusted *x509.CertPool
	// mustHaveServed, if set, requires that the proxy noticed each shutdown and used both instances.
	mustHaveServed func(*testing.T)
}

func newProxy(t *testing.T) *balancer {
	t.Helper()
	port := freePort(t)
	return &balancer{
		dir: t.TempDir(), port: port, base: "https://127.0.0.1:" + strconv.Itoa(port), trusted: x509.NewCertPool(),
	}
}

// configure writes the example with other paths and addresses, and returns the path. Each pair has what is replaced
// once, and its replacement.
func (p *balancer) configure(t *testing.T, example string, ports []int, pairs ...[2]string) (path string) {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/" + example)
	if err != nil {
		t.Fatal(err)
	}
	config := string(text)
	for _, pair := range append(pairs,
		[2]string{"10.0.0.11:8080", fmt.Sprintf("127.0.0.1:%d", ports[0])},
		[2]string{"10.0.0.12:8080", fmt.Sprintf("127.0.0.1:%d", ports[1])},
	) {
		if n := strings.Count(config, pair[0]); n != 1 {
			t.Fatalf("%s contains %q %d times, want once", example, pair[0], n)
		}
		config = strings.Replace(config, pair[0], pair[1], 1)
	}
	path = filepath.Join(p.dir, filepath.Base(example))
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// awaitReady waits until the proxy forwards a request.
func (p *balancer) awaitReady(t *testing.T) {
	t.Helper()
	c := p.client(t, "", false, true)
	await(t, 10*time.Second, p.name+" to reach an instance", func() bool {
		response, err := c.http.Get(p.base + "/readyz")
		if err != nil {
			return !p.mustRun(t)
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

// startHAProxy waits until both instances passed a health check.
func startHAProxy(t *testing.T, ports []int) *balancer {
	t.Helper()
	p := newProxy(t)
	control := filepath.Join(p.dir, "control")
	path := p.configure(t, "haproxy/haproxy.cfg", ports,
		[2]string{"    user haproxy\n    group haproxy\n", ""},
		[2]string{"/run/haproxy/admin.sock", control},
		[2]string{"bind :80\n", fmt.Sprintf("bind 127.0.0.1:%d\n", freePort(t))},
		[2]string{"bind :443 ", fmt.Sprintf("bind 127.0.0.1:%d ", p.port)},
		[2]string{"/etc/haproxy/certs/", p.certificate(t)},
	)
	p.process = startProcess(t, p.dir, nil, mustFindProgram(t, "haproxy"), "-db", "-f", path)
	await(t, 10*time.Second, "both instances to pass a check", func() bool {
		return p.mustRun(t) && strings.Count(askHAProxy(control, "show stat"), "L7OK") >= 2
	})
	p.mustHaveServed = func(t *testing.T) { mustHaveServed(t, askHAProxy(control, "show stat")) }
	return p
}

// startNginx runs nginx in one process, so that killing it ends it.
func startNginx(t *testing.T, ports []int) *balancer {
	t.Helper()
	p := newProxy(t)
	certificate := p.certificate(t)
	temporary := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("    %s_temp_path %s/%s;\n", kind, p.dir, kind)
	}
	path := p.configure(t, "nginx/nginx.conf", ports,
		[2]string{"user www-data;\n", ""},
		[2]string{"worker_processes auto;", "worker_processes 1; master_process off; daemon off;"},
		[2]string{"/run/nginx.pid", filepath.Join(p.dir, "pid")},
		[2]string{"/var/log/nginx/error.log", filepath.Join(p.dir, "error.log")},
		[2]string{"/var/log/nginx/access.log", filepath.Join(p.dir, "access.log")},
		[2]string{"http {\n", "http {\n" + temporary},
		[2]string{"listen 80;", fmt.Sprintf("listen 127.0.0.1:%d;", freePort(t))},
		[2]string{"listen 443 ", fmt.Sprintf("listen 127.0.0.1:%d ", p.port)},
		[2]string{"ssl_certificate     /etc/nginx/certs/storeroom.pem", "ssl_certificate " + certificate},
		[2]string{"ssl_certificate_key /etc/nginx/certs/storeroom.pem", "ssl_certificate_key " + certificate},
	)
	p.process = startProcess(t, p.dir, nil, mustFindProgram(t, "nginx"), "-c", path, "-e", filepath.Join(p.dir, "start.log"))
	p.awaitReady(t)
	return p
}

func startCaddy(t *testing.T, ports []int) *balancer {
	t.Helper()
	p := newProxy(t)
	certificate := p.certificate(t)
	path := p.configure(t, "caddy/Caddyfile", ports,
		[2]string{"{\n\tservers {", "{\n\tadmin off\n\tservers {"},
		[2]string{"\nshop.example.com {", fmt.Sprintf("\n%s {\n\ttls %s %s", p.base, certificate, certificate)},
		[2]string{"http://shop.example.com {", fmt.Sprintf("http://127.0.0.1:%d {", freePort(t))},
	)
	p.process = startProcess(t, p.dir, []string{"HOME=" + p.dir}, mustFindProgram(t, "caddy"),
		"run", "--config", path, "--adapter", "caddyfile")
	p.awaitReady(t)
	return p
}

// certificate writes a file with a key and a self-signed certificate, which the clients trust.
func (p *balancer) certificate(t *testing.T) string {
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
	path := filepath.Join(p.dir, "storeroom.pem")
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (p *balancer) client(t *testing.T, key string, two, fresh bool) client {
	t.Helper()
	c := newClient(t, p.base, key, fresh)
	transport := c.http.Transport.(*http.Transport)
	transport.TLSClientConfig, transport.ForceAttemptHTTP2 = &tls.Config{RootCAs: p.trusted}, two
	return c
}

// askHAProxy sends a command to its control socket and returns the response, or "" if it is not ready.
func askHAProxy(control, command string) string {
	conn, err := net.DialTimeout("unix", control, time.Second)
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
func mustHaveServed(t *testing.T, stat string) {
	t.Helper()
	lines := strings.Split(stat, "\n")
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
