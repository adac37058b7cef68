// Package storeroom is a client of the Storeroom API.
//
// A Client has one method for each operation. It sends a request again if that is safe: with back-off after 429, 503
// and lost connections, and with the same Idempotency-Key. Fields and values that a later release adds are ignored.
// Money is text, so that no digit is lost.
package storeroom

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Version is the version of this package.
const Version = "0.1.0"

// Client sends requests. It can be used concurrently.
type Client struct {
	baseURL    string
	key        string
	httpClient *http.Client
	userAgent  string
	timeout    time.Duration
	retries    int
	sleep      func(context.Context, time.Duration) error
	name       string // begins the X-Request-Id of each request
	sent       atomic.Int64
}

// Option changes a Client.
type Option func(*Client)

// WithHTTPClient sets the client that sends requests. The default does not follow redirects.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.httpClient = h } }

// WithTimeout limits the time of each attempt, from the request to the end of the response. The default is a minute.
// It does not limit how long a file is read.
func WithTimeout(d time.Duration) Option { return func(c *Client) { c.timeout = d } }

// WithRetries sets how often a request is sent again. The default is 4.
func WithRetries(n int) Option { return func(c *Client) { c.retries = n } }

// WithUserAgent adds the name of your program to the User-Agent, for example "shop-connector/2.1".
func WithUserAgent(name string) Option {
	return func(c *Client) { c.userAgent = name + " " + c.userAgent }
}

// New returns a Client of the service at an address such as https://shop.example.com, with an API key.
func New(address, key string, options ...Option) *Client {
	c := &Client{
		baseURL: strings.TrimRight(address, "/"), key: key,
		httpClient: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		userAgent:  fmt.Sprintf("storeroom-go/%s (%s; %s/%s)", Version, runtime.Version(), runtime.GOOS, runtime.GOARCH),
		timeout:    time.Minute, retries: 4, sleep: sleep, name: rand.Text()[:16] + "-",
	}
	for _, option := range options {
		option(c)
	}
	return c
}

// RequestOption changes one call of a method.
type RequestOption func(*request)

// WithIdempotencyKey sets the key of a write, instead of a random one. A request that a program repeats with the same
// key, even after it was started again, is executed once.
func WithIdempotencyKey(key string) RequestOption { return func(r *request) { r.key = key } }

// WithHeader sets a header, such as If-Match or If-None-Match.
func WithHeader(name, value string) RequestOption {
	return func(r *request) { r.header.Set(name, value) }
}

// WithResponse stores the status and the headers of the response.
func WithResponse(into *Response) RequestOption { return func(r *request) { r.response = into } }

// Response has what a result does not show.
type Response struct {
	Status    int
	Header    http.Header
	RequestID string
	Replayed  bool // this is the stored response to an earlier request with the same Idempotency-Key
	Attempts  int
}

// request is a call of a method.
type request struct {
	method, path string
	query        url.Values
	body         any    // sent as JSON
	form         *form  // sent instead of body
	repeatable   bool   // sending it twice has the effect of sending it once
	keyed        bool   // accepts an Idempotency-Key
	key          string // that of the caller, or a random one
	header       http.Header
	response     *Response
}

func sendForData[T any](ctx context.Context, c *Client, r request, options []RequestOption) (T, error) {
	var body struct {
		Data T `json:"data"`
	}
	err := c.send(ctx, r, &body, options)
	return body.Data, err
}

func sendForBody[T any](ctx context.Context, c *Client, r request, options []RequestOption) (T, error) {
	var body T
	err := c.send(ctx, r, &body, options)
	return body, err
}

// send stores the body of the response in a value, unless it is nil.
func (c *Client) send(ctx context.Context, r request, into any, options []RequestOption) error {
	return c.repeat(ctx, r, options, func(ctx context.Context, resp *http.Response) error {
		defer resp.Body.Close()
		content, err := io.ReadAll(resp.Body)
		if err != nil || into == nil || len(content) == 0 {
			return err
		}
		return json.Unmarshal(content, into)
	})
}

// repeat sends a request until it succeeds, until it must not be sent again, or until the last attempt. A failure to
// read the response is one to send the request.
func (c *Client) repeat(
	ctx context.Context, r request, options []RequestOption, read func(context.Context, *http.Response) error,
) error {
	r.header = http.Header{}
	for _, option := range options {
		option(&r)
	}
	if r.keyed && r.key == "" {
		r.key = rand.Text()
	}
	body, contentType, err := r.encode()
	if err != nil {
		return err
	}
	lost := false // an earlier attempt may have been executed
	for attempt := 1; ; attempt++ {
		failure := c.attempt(ctx, r, body, contentType, attempt, read)
		var refused *Error
		switch {
		case failure == nil, errors.As(failure, &refused) && lost && r.method == http.MethodDelete && refused.Status == 404:
			return nil // an attempt without a response has deleted the object
		case ctx.Err() != nil:
			return fmt.Errorf("%s %s: %w", r.method, r.path, errors.Join(ctx.Err(), failure))
		case attempt > c.retries || !r.again(failure):
			return failure
		}
		lost = lost || refused == nil
		if err := c.sleep(ctx, delay(attempt, refused)); err != nil {
			return fmt.Errorf("%s %s: %w", r.method, r.path, errors.Join(err, failure))
		}
	}
}

// again reports whether a request may be sent again after a failure.
func (r request) again(failure error) bool {
	if !r.repeatable && r.key == "" {
		return false
	}
	var refused *Error
	if !errors.As(failure, &refused) {
		// With a lost response it is not known whether the object still matches.
		return r.header.Get("If-Match") == "" || r.method == http.MethodGet
	}
	switch refused.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return refused.RetryAfter <= maxDelay
	}
	return refused.Code == ErrIdempotencyInProgress
}

// maxDelay is the length of the window of the rate limit.
const maxDelay = time.Minute

// delay returns the time that the service demands, or one that doubles with each attempt, of which a random half is left
// out so that clients do not return together.
func delay(attempt int, refused *Error) time.Duration {
	if refused != nil && refused.RetryAfter > 0 {
		return refused.RetryAfter
	}
	d := min(250*time.Millisecond<<attempt, 8*time.Second)
	return d - mathrand.N(d/2)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (c *Client) attempt(
	ctx context.Context, r request, body []byte, contentType string, number int, read func(context.Context, *http.Response) error,
) error {
	limited, stop := context.WithCancelCause(ctx)
	timer := time.AfterFunc(c.timeout, func() { stop(fmt.Errorf("the attempt took longer than %s", c.timeout)) })
	defer timer.Stop()
	cancel := func() { stop(context.Canceled) }
	httpRequest, err := http.NewRequestWithContext(limited, r.method, c.baseURL+r.path, bytes.NewReader(body))
	if err != nil {
		cancel()
		return err
	}
	httpRequest.URL.RawQuery = r.query.Encode()
	httpRequest.Header.Set("X-Request-Id", c.name+strconv.FormatInt(c.sent.Add(1), 10))
	for name, values := range r.header {
		httpRequest.Header[name] = values
	}
	httpRequest.Header.Set("Authorization", "Bearer "+c.key)
	httpRequest.Header.Set("User-Agent", c.userAgent)
	if contentType != "" {
		httpRequest.Header.Set("Content-Type", contentType)
	}
	if r.key != "" {
		httpRequest.Header.Set("Idempotency-Key", r.key)
	}
	resp, err := c.httpClient.Do(httpRequest)
	if err != nil {
		cancel()
		return fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	resp.Body = &canceller{resp.Body, cancel}
	// The network can deliver a response twice. The service returns the id of the request.
	if id := resp.Header.Get("X-Request-Id"); strings.HasPrefix(id, c.name) && id != httpRequest.Header.Get("X-Request-Id") {
		resp.Body.Close()
		return fmt.Errorf("%s %s: the response is that of another request", r.method, r.path)
	}
	if r.response != nil {
		*r.response = Response{
			Status: resp.StatusCode, Header: resp.Header, RequestID: resp.Header.Get("X-Request-Id"),
			Replayed: resp.Header.Get("Idempotent-Replayed") == "true", Attempts: number,
		}
	}
	if resp.StatusCode >= 300 {
		return newError(r, resp, number)
	}
	if err := read(limited, resp); err != nil {
		return fmt.Errorf("%s %s: read the response: %w", r.method, r.path, err)
	}
	return nil
}

// canceller ends the context of a request when its response was read.
type canceller struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close closes the body.
func (c *canceller) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

// encode returns the body of a request and its type.
func (r request) encode() (body []byte, contentType string, err error) {
	switch {
	case r.form != nil:
		return r.form.encode()
	case r.body == nil:
		return nil, "", nil
	}
	body, err = json.Marshal(r.body)
	if string(body) == "null" {
		return nil, "", err
	}
	return body, "application/json", err
}

// File is a file that is read while it arrives. The caller closes it.
type File struct {
	io.ReadCloser
	Name        string // as the service calls it
	ContentType string
}

func (c *Client) sendForFile(ctx context.Context, r request, options []RequestOption) (*File, error) {
	var f *File
	err := c.repeat(ctx, r, options, func(_ context.Context, resp *http.Response) error {
		_, parameters, _ := mime.ParseMediaType(resp.Header.Get("Content-Disposition"))
		f = &File{resp.Body, parameters["filename"], resp.Header.Get("Content-Type")}
		return nil
	})
	return f, err
}

// makePath puts values into a path.
func makePath(template string, values ...any) string {
	escaped := make([]any, len(values))
	for i, value := range values {
		escaped[i] = url.PathEscape(fmt.Sprint(value))
		if escaped[i] == "export" {
			escaped[i] = "%65xport" // otherwise it is the path of the list as a file
		}
	}
	return fmt.Sprintf(template, escaped...)
}

// addParameter adds a parameter unless it has the zero value.
func addParameter(v url.Values, name string, value any) {
	switch value := value.(type) {
	case *string:
		if value != nil {
			v.Set(name, *value)
		}
	case int64:
		if value != 0 {
			v.Set(name, strconv.FormatInt(value, 10))
		}
	case bool:
		if value {
			v.Set(name, "true")
		}
	case Time:
		if !value.IsZero() {
			v.Set(name, value.String())
		}
	default:
		if text := fmt.Sprint(value); text != "" {
			v.Set(name, text)
		}
	}
}
