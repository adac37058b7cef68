package table

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestTemporaryFilesShareASpace(t *testing.T) {
	t.Parallel()
	space := NewSpace(t.TempDir(), 100)
	first, err := space.File()
	if err != nil {
		t.Fatal(err)
	}
	second, err := space.File()
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	content := bytes.Repeat([]byte("x"), 60)
	if n, err := io.Copy(first, bytes.NewReader(content)); n != 60 || err != nil {
		t.Errorf("the first file gets %d bytes, %v, want 60", n, err)
	}
	if _, err := io.Copy(second, bytes.NewReader(content)); err == nil || !strings.Contains(err.Error(), "several imports") {
		t.Errorf("the second file gets more than the space: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if again, err := space.File(); err != nil {
		t.Error(err)
	} else if _, err := again.Write(bytes.Repeat([]byte("x"), 100)); err != nil {
		t.Errorf("files that are closed take space: %v", err)
	}
}
