package webhooks

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// newSender returns a Store without a database.
func newSender(isLocal bool) *Store {
	return &Store{sender: &sender{client: newClient(isLocal), isLocal: isLocal}}
}

func testMessage() message {
	body := encodeMessage("changes", time.Unix(1772357400, 0), []json.RawMessage{json.RawMessage(`{"seq":"A"}`)})
	return message{Delivery{MessageID: "msg_1", Type: "changes", Attempt: 1}, body}
}

// The library of the specification verifies messages, also during the overlap of two secrets.
func TestMessagesFollowTheSpecification(t *testing.T) {
	t.Parallel()
	oldSecret, current := newSecret(), newSecret()
	soon, before := time.Now().Add(time.Hour), time.Now().Add(-time.Second)
	for _, c := range []struct {
		name    string
		hook    Webhook
		secret  string
		isValid bool
	}{
		{"the secret", Webhook{Secret: current}, current, true},
		{"another secret", Webhook{Secret: current}, newSecret(), false},
		{"the new secret", Webhook{Secret: current, PreviousSecret: &oldSecret, PreviousExpiresAt: &soon}, current, true},
		{"the old secret", Webhook{Secret: current, PreviousSecret: &oldSecret, PreviousExpiresAt: &soon}, oldSecret, true},
		{
			"the old secret after the overlap",
			Webhook{Secret: current, PreviousSecret: &oldSecret, PreviousExpiresAt: &before}, oldSecret, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			verifier, err := standard.NewWebhook(c.secret)
			if err != nil {
				t.Fatal(err)
			}
			var verified error
			receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				verified = verifier.Verify(body, r.Header)
				if changed := verifier.Verify(append(body, ' '), r.Header); changed == nil {
					t.Error("a changed body has a valid signature")
				}
			}))
			defer receiver.Close()
			c.hook.URL = receiver.URL
			if d := newSender(true).send(t.Context(), c.hook, testMessage()); !d.Succeeded || *d.Status != 200 {
				t.Fatalf("delivery: %+v", d)
			}
			if (verified == nil) != c.isValid {
				t.Errorf("Verify = %v, want valid: %t", verified, c.isValid)
			}
		})
	}
}

// A receiver that is not public gets nothing, whatever the URL looks like.
func TestMessagesAreSentToPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	refused := []string{
		"127.0.0.1", "127.1.2.3", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
		"100.100.100.200", "168.63.129.16", "192.0.0.192", "224.0.0.1", "255.255.255.255", "198.18.0.1", "::", "::1",
		"fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "fec0::1",
	}
	guard := newGuard(false)
	for _, text := range refused {
		ip := netip.MustParseAddr(text)
		if err := guard(networkOf(ip), netip.AddrPortFrom(ip, 443).String(), nil); !errors.Is(err, errAddress) {
			t.Errorf("%s: %v, want %v", text, err, errAddress)
		}
	}
	for _, text := range []string{"1.1.1.1", "8.8.8.8", "2606:4700:4700::1111"} {
		ip := netip.MustParseAddr(text)
		if err := guard(networkOf(ip), netip.AddrPortFrom(ip, 443).String(), nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, network := range []string{"unix", "udp4", "tcp"} {
		if err := guard(network, "1.1.1.1:443", nil); err == nil {
			t.Errorf("the network %s is allowed", network)
		}
	}
}

// Addresses of this machine are refused even if they are public.
func TestMessagesAreNotSentToThisMachine(t *testing.T) {
	t.Parallel()
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range own {
		prefix := netip.MustParsePrefix(address.String())
		if err := checkNotOwn(prefix.Addr()); !errors.Is(err, errAddress) {
			t.Errorf("%v: %v, want %v", prefix, err, errAddress)
		}
	}
	if err := checkNotOwn(netip.MustParseAddr("1.1.1.1")); err != nil {
		t.Error(err)
	}
}

// The dialled address is checked: here the host of the URL is a name, so only the check of the connection finds it.
func TestANameWithAPrivateAddressIsRefused(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer receiver.Close()
	_, port, _ := net.SplitHostPort(receiver.Listener.Addr().String())
	s := newSender(false)
	s.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	for _, url := range []string{
		"https://localhost:" + port, "https://127.0.0.1:" + port, "https://[::ffff:127.0.0.1]:" + port,
		"https://2130706433:" + port, "https://0x7f.1:" + port, "https://0:" + port, "https://127.1:" + port,
		"http://localhost:" + port,
	} {
		d := s.send(t.Context(), Webhook{URL: url, Secret: newSecret()}, testMessage())
		if d.Succeeded || d.Status != nil || d.Error == nil {
			t.Errorf("%s: %+v, want no connection", url, d)
		}
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("the receiver got %d requests", n)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	public, local := newSender(false), newSender(true)
	for url, want := range map[string][2]bool{ // public, local
		"https://shop.example.com/hook?key=1":  {true, true},
		"https://shop.example.com:8443":        {true, true},
		"http://shop.example.com":              {false, true},
		"http://127.0.0.1:9000/hook":           {false, true},
		"https://127.0.0.1":                    {false, true},
		"https://[::1]:9000":                   {false, true},
		"https://10.0.0.1":                     {false, false},
		"https://169.254.169.254/latest":       {false, false},
		"https://ann:secret@example.com":       {false, false},
		"https://example.com/#part":            {false, false},
		"https://example.com:0":                {false, false},
		"https://example.com:70000":            {false, false},
		"ftp://example.com":                    {false, false},
		"file:///etc/passwd":                   {false, false},
		"gopher://example.com":                 {false, false},
		"https:example.com":                    {false, false},
		"https://":                             {false, false},
		"https:///path":                        {false, false},
		"https://exa mple.com":                 {false, false},
		"//example.com":                        {false, false},
		"":                                     {false, false},
		"https://example.com/\r\nHost: a":      {false, false},
		"https://" + strings.Repeat("a", 2000): {false, false},
	} {
		got := [2]bool{public.checkURL(url) == "", local.checkURL(url) == ""}
		if got != want {
			t.Errorf("%q is allowed: %v, want %v (%s)", url, got, want, public.checkURL(url))
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
	}))
	defer receiver.Close()
	d := newSender(true).send(t.Context(), Webhook{URL: receiver.URL, Secret: newSecret()}, testMessage())
	if d.Succeeded || *d.Status != http.StatusTemporaryRedirect || requests.Load() != 1 {
		t.Errorf("delivery: %+v after %d requests", d, requests.Load())
	}
}

// A proxy of the environment would connect to addresses that are not checked.
func TestNoProxyIsUsed(t *testing.T) {
	t.Parallel()
	if newClient(false).Transport.(*http.Transport).Proxy != nil {
		t.Error("the client uses a proxy")
	}
}

// A receiver cannot make the service read forever.
func TestALongResponseIsCut(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	ended := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		w.WriteHeader(http.StatusBadGateway)
		part := []byte(strings.Repeat("\x00é", 1000))
		for {
			n, err := w.Write(part)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	defer receiver.Close()
	d := newSender(true).send(t.Context(), Webhook{URL: receiver.URL, Secret: newSecret()}, testMessage())
	<-ended
	if d.Succeeded || len(d.Response) < keptResponse || len(d.Response) > 3*keptResponse || strings.ContainsRune(d.Response, 0) {
		t.Errorf("the response has %d bytes: %.20q", len(d.Response), d.Response)
	}
	if n := sent.Load(); n > 16<<20 { // buffers of the system
		t.Errorf("the receiver sent %d bytes", n)
	}
}

func TestASlowReceiverTimesOut(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { <-release }))
	defer receiver.Close()
	defer close(release)
	s := newSender(true)
	s.client.Timeout = 50 * time.Millisecond
	d := s.send(t.Context(), Webhook{URL: receiver.URL, Secret: newSecret()}, testMessage())
	if d.Succeeded || d.Error == nil || !strings.Contains(*d.Error, "did not answer") {
		t.Errorf("delivery: %+v", d)
	}
}

// After 101, the timeout of net/http no longer applies, and the body ends only with the connection.
func TestAReceiverCannotSwitchProtocols(t *testing.T) {
	t.Parallel()
	closed := make(chan error, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		}
		if err == nil {
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			_, err = conn.Read(make([]byte, 1))
			conn.Close()
		}
		closed <- err
	}))
	defer receiver.Close()
	s := newSender(true)
	s.client.Timeout = time.Second
	d := s.send(t.Context(), Webhook{URL: receiver.URL, Secret: newSecret()}, testMessage())
	if d.Succeeded || d.Status == nil || *d.Status != http.StatusSwitchingProtocols {
		t.Errorf("delivery: %+v, want a failure with 101", d)
	}
	if err := <-closed; !errors.Is(err, io.EOF) {
		t.Errorf("the receiver got %v, want the end of the connection", err)
	}
}

func TestProblemsNameNoAddress(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		&net.OpError{Op: "dial", Err: errors.New("10.2.3.4 is unreachable")}, context.Canceled,
		&net.DNSError{Err: "no such host", Server: "10.2.3.4:53"}, errAddress,
	} {
		if text := problemOf(err); strings.Contains(text, "10.2.3.4") || text == "" {
			t.Errorf("%v is shown as %q", err, text)
		}
	}
}

// Users who may create endpoints must not learn which names exist in the network of the service.
func TestAPrivateNameIsLikeAnUnknownOne(t *testing.T) {
	t.Parallel()
	if private, unknown := problemOf(errAddress), problemOf(&net.DNSError{IsNotFound: true}); private != unknown {
		t.Errorf("a private address is %q, an unknown name %q; want the same", private, unknown)
	}
}

// The response only shows why a message fails.
func TestTheResponseOfAcceptedChangesIsNotKept(t *testing.T) {
	t.Parallel()
	status := 200
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "thanks")
	}))
	defer receiver.Close()
	for _, c := range []struct {
		kind   string
		status int
		want   string
	}{{"changes", 200, ""}, {"changes", 500, "thanks"}, {"test", 200, "thanks"}} {
		status = c.status
		m := testMessage()
		m.Type = c.kind
		if d := newSender(true).send(t.Context(), Webhook{URL: receiver.URL}, m); d.Response != c.want {
			t.Errorf("%s with %d: the response is %q, want %q", c.kind, c.status, d.Response, c.want)
		}
	}
}
