package webhooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/storeroom/storeroom/tenancy"
)

const (
	secretPrefix   = "whsec_"
	connectTimeout = 5 * time.Second
	timeout        = 15 * time.Second // of a whole request
	maxResponse    = 256 << 10
	keptResponse   = 1 << 10
	maxHeaders     = 64 << 10
)

// TestTimeout limits a request that tests a webhook. It is longer than that of the request to the receiver.
const TestTimeout = timeout + 10*time.Second

// errAddress reports an address to which no message may be sent.
var errAddress = errors.New("the address is not public")

// newClient returns a client for URLs that anyone can choose. It uses no proxy and follows no redirect.
func newClient(isLocal bool) *http.Client {
	dialer := &net.Dialer{Timeout: connectTimeout, Control: newGuard(isLocal)}
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: connectTimeout,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
			MaxIdleConns:    100, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second,
			MaxResponseHeaderBytes: maxHeaders, DisableCompression: true,
		},
	}
}

// newGuard returns a function that a dialer calls with each address right before it connects, so that a name cannot
// resolve to another address in between. It allows public addresses, except those of this machine.
func newGuard(isLocal bool) func(network, address string, _ syscall.RawConn) error {
	options := []ssrf.Option{
		ssrf.WithAnyPort(),
		ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")), // the host of an Azure machine
	}
	if isLocal {
		options = append(options, ssrf.WithAllowedV4Prefixes(netip.MustParsePrefix("127.0.0.0/8")),
			ssrf.WithAllowedV6Prefixes(netip.MustParsePrefix("::1/128")))
	}
	public := ssrf.New(options...)
	return func(network, address string, conn syscall.RawConn) error {
		if err := public.Safe(network, address, conn); err != nil {
			return fmt.Errorf("%w: %w", errAddress, err)
		}
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%w: %w", errAddress, err)
		}
		if at.Addr().IsLoopback() {
			return nil
		}
		return checkNotOwn(at.Addr())
	}
}

// checkNotOwn returns an error for an address of this machine, which can be public.
func checkNotOwn(at netip.Addr) error {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("%w: %w", errAddress, err)
	}
	for _, address := range own {
		if prefix, err := netip.ParsePrefix(address.String()); err != nil || prefix.Addr().Unmap() == at.WithZone("") {
			return fmt.Errorf("%w: %q is an address of this machine", errAddress, at.String())
		}
	}
	return nil
}

// checkURL returns why a message cannot be sent to a URL, or "".
func (s *Store) checkURL(text string) (problem string) {
	if problem := tenancy.CheckText(text, maxURL); problem != "" {
		return problem
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Opaque != "" || strings.ContainsAny(text, " \t\r\n"):
		return "must be a URL such as https://shop.example.com/webhook"
	case u.Scheme != "https" && !(s.isLocal && u.Scheme == "http"):
		return "must begin with https://"
	case u.User != nil:
		return "must not have a user name or a password"
	case u.Fragment != "":
		return "must not have a fragment"
	}
	port := u.Port()
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
		return "must have a port between 1 and 65535"
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		if newGuard(s.isLocal)(networkOf(ip), netip.AddrPortFrom(ip, 443).String(), nil) != nil {
			return "must have a public address"
		}
	}
	return ""
}

func networkOf(ip netip.Addr) string {
	if ip.Is4() {
		return "tcp4"
	}
	return "tcp6"
}

// shownURL returns a URL without its query, which may have a secret.
func shownURL(text string) string {
	without, _, _ := strings.Cut(text, "?")
	return without
}

// message is what an endpoint gets.
type message struct {
	Delivery
	body []byte
}

// sign returns the value of webhook-signature.
func (w Webhook) sign(id string, at time.Time, body []byte) string {
	secrets := []string{w.Secret}
	if w.PreviousSecret != nil && w.PreviousExpiresAt != nil && w.PreviousExpiresAt.After(at) {
		secrets = append(secrets, *w.PreviousSecret)
	}
	var signatures []string
	for _, secret := range secrets {
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix)) // newSecret has encoded it
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(signatures, " ")
}

// send sends a message once, and returns the delivery with its outcome.
func (s *Store) send(ctx context.Context, w Webhook, m message) Delivery {
	d := m.Delivery
	begin := time.Now()
	status, response, err := s.post(ctx, w, m)
	d.LatencyMs = int(time.Since(begin).Milliseconds())
	switch {
	case status != 0:
		d.Status, d.Succeeded = &status, status/100 == 2
	default:
		problem := problemOf(err)
		d.Error = &problem
	}
	if !d.Succeeded || d.Type == "test" { // responses to all messages would take much disk space
		d.Response = strings.ReplaceAll(strings.ToValidUTF8(string(response), "\uFFFD"), "\x00", "\uFFFD")
	}
	recordAttempt(ctx, d)
	return d
}

// post returns the status and the start of the response.
func (s *Store) post(ctx context.Context, w Webhook, m message) (status int, response []byte, err error) {
	if s.checkURL(w.URL) != "" { // dev may have stored it
		return 0, nil, errAddress
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(m.body))
	if err != nil {
		return 0, nil, err
	}
	now := time.Now()
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {"Storeroom-Webhooks"}, "Webhook-Id": {m.MessageID},
		"Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)}, "Webhook-Signature": {w.sign(m.MessageID, now, m.body)},
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols { // the body would last as long as the receiver wants
		return resp.StatusCode, nil, nil
	}
	response, err = io.ReadAll(io.LimitReader(resp.Body, keptResponse))
	if err == nil { // the connection can be used again if the response ends here
		_, _ = io.CopyN(io.Discard, resp.Body, maxResponse-keptResponse)
	}
	return resp.StatusCode, response, nil
}

// problemOf says why there is no response, without addresses of the network of this service.
func problemOf(err error) string {
	var lookup *net.DNSError
	var certificate *tls.CertificateVerificationError
	var network net.Error
	switch {
	case errors.Is(err, errAddress), errors.As(err, &lookup): // one text, which does not show whether a private name exists
		return "The host was not found or has no public address."
	case errors.As(err, &certificate):
		return "The certificate of the host is not valid."
	case errors.Is(err, context.Canceled):
		return "The request was interrupted."
	case errors.As(err, &network) && network.Timeout():
		return fmt.Sprintf("The receiver did not answer within %d seconds.", int(timeout.Seconds()))
	case errors.Is(err, syscall.ECONNREFUSED):
		return "The connection was refused."
	}
	return "The connection failed."
}
