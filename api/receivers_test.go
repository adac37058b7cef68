package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The receivers of WEBHOOKS.md accept messages with a valid signature, and no others.
func TestReceiversOfTheDocumentation(t *testing.T) {
	t.Parallel()
	handbook, err := os.ReadFile("WEBHOOKS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ language, file, program string }{
		{"go", "main.go", "go"}, {"js", "receiver.js", "node"}, {"python", "receiver.py", "python3"},
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skip(c.program + " is not installed")
			}
			_, rest, found := strings.Cut(string(handbook), "```"+c.language+"\n")
			source, _, ended := strings.Cut(rest, "```\n")
			if !found || !ended {
				t.Fatalf("WEBHOOKS.md has no receiver in %s", c.language)
			}
			file := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			checkReceiver(t, c.program, file)
		})
	}
}

const receiverSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func checkReceiver(t *testing.T, program, file string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	command := exec.CommandContext(t.Context(), program, file)
	if program == "go" {
		binary := strings.TrimSuffix(file, ".go")
		if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, file).CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, output)
		}
		command = exec.CommandContext(t.Context(), binary)
	}
	var output logged
	command.Env, command.Stdout, command.Stderr = append(os.Environ(), "SECRET="+receiverSecret, "PORT="+port), &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Process.Kill(); _ = command.Wait() }()

	body := `{"type":"changes","timestamp":"2026-03-01T09:30:00.000000Z","data":[{"seq":"A","type":"product","id":"7é",` +
		`"action":"updated","at":"2026-03-01T09:30:00.000000Z","api_key":null,"changed":[],"data":null}]}`
	now := time.Now()
	valid := signature(receiverSecret, "msg_1", now, body)
	other := signature("whsec_"+base64.StdEncoding.EncodeToString([]byte("another secret")), "msg_1", now, body)
	old := now.Add(-6 * time.Minute)
	large := body + strings.Repeat(" ", 16<<20)
	send := func(id string, at time.Time, signatures, body string) int {
		return sendMessage(t, port, id, strconv.FormatInt(at.Unix(), 10), signatures, body)
	}
	for begin := time.Now(); send("msg_1", now, valid, body) == 0; time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > 5*time.Minute {
			t.Fatalf("the receiver does not answer: %s", output.String())
		}
	}
	poll(t, "the receiver prints the entry", func() bool { return strings.Contains(output.String(), "product 7é updated\n") })
	for _, c := range []struct {
		name      string
		want, got int
	}{
		{"a valid signature", 204, send("msg_1", now, valid, body)},
		{"two signatures", 204, send("msg_1", now, other+" "+valid, body)},
		{"another secret", 401, send("msg_1", now, other, body)},
		{"another id", 401, send("msg_2", now, valid, body)},
		{"another body", 401, send("msg_1", now, valid, strings.Replace(body, "updated", "deleted", 1))},
		{"an old message", 401, send("msg_1", old, signature(receiverSecret, "msg_1", old, body), body)},
		{"no signature", 401, send("msg_1", now, "", body)},
		{"a body above 16 MiB", 0, acceptedOnly(send("msg_1", now, signature(receiverSecret, "msg_1", now, large), large))},
		{"no time", 401, sendMessage(t, port, "msg_1", "", valid, body)},
	} {
		if c.got != c.want {
			t.Errorf("%s = %d, want %d: %s", c.name, c.got, c.want, output.String())
		}
	}
}

// acceptedOnly returns 0 for a refusal, which can also be the end of the connection.
func acceptedOnly(status int) int {
	if status/100 == 2 {
		return status
	}
	return 0
}

func signature(secret, id string, at time.Time, body string) string {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// sendMessage returns the status, or 0 without a connection.
func sendMessage(t *testing.T, port, id, at, signatures, body string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", "http://127.0.0.1:"+port+"/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"webhook-id": id, "webhook-timestamp": at, "webhook-signature": signatures, "Content-Type": "application/json",
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}
