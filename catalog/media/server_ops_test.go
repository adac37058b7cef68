//go:build ops

package media

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gocloud.dev/blob"
)

func init() { storages["S3 server"] = startServer }

// startServer starts a server of the S3 protocol with the bucket pictures, which is a folder. The server keeps the
// attributes of objects in another folder, because not every file system has extended attributes.
func startServer(t *testing.T) (*Store, func() []string) {
	setCredentials(t)
	dir := t.TempDir()
	for _, folder := range []string{"buckets/pictures", "attributes"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	address := freeAddress(t)
	server := exec.CommandContext(t.Context(), "versitygw", // t.Context ends before the cleanup
		"--access", os.Getenv("AWS_ACCESS_KEY_ID"), "--secret", os.Getenv("AWS_SECRET_ACCESS_KEY"),
		"--port", address, "--health", "/health", "--quiet",
		"posix", "--sidecar", filepath.Join(dir, "attributes"), filepath.Join(dir, "buckets"))
	server.Stdout, server.Stderr = os.Stderr, os.Stderr
	if err := server.Start(); err != nil {
		t.Fatalf("%v: `make test-ops` installs it", err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // it was killed
	awaitHealth(t, "http://"+address+"/health")
	s := Open(s3URL("http://" + address))
	return s, func() (keys []string) {
		bucket, err := s.bucket(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all, _, err := bucket.ListPage(t.Context(), blob.FirstPageToken, 1000, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range all {
			keys = append(keys, object.Key)
		}
		return keys
	}
}

// freeAddress returns an address of this machine with a port that is not in use.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func awaitHealth(t *testing.T, url string) {
	t.Helper()
	err := fmt.Errorf("no attempt")
	for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(50 * time.Millisecond) {
		var response *http.Response
		if response, err = http.Get(url); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
	}
	t.Fatalf("the S3 server does not answer: %v", err)
}
