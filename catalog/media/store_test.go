package media

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

// onEachStorage runs a test on a folder and on a server of the S3 protocol. keys lists the stored objects.
func onEachStorage(t *testing.T, f func(t *testing.T, s *Store, keys func() []string)) {
	t.Run("folder", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "new", "folder")
		s := Open("file://" + dir)
		f(t, s, func() (keys []string) {
			_ = filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
				if err == nil && !info.IsDir() {
					keys = append(keys, strings.TrimPrefix(path, dir+"/"))
				}
				return nil
			})
			return keys
		})
	})
	t.Run("S3", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", "test")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
		t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
		backend := s3mem.New()
		server := httptest.NewServer(gofakes3.New(backend).Server())
		defer server.Close()
		if err := backend.CreateBucket("pictures"); err != nil {
			t.Fatal(err)
		}
		s := Open("s3://pictures?region=us-east-1&use_path_style=true&endpoint=" + server.URL)
		f(t, s, func() (keys []string) {
			all, err := backend.ListBucket("pictures", nil, gofakes3.ListBucketPage{})
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range all.Contents {
				keys = append(keys, object.Key)
			}
			return keys
		})
	})
}

func TestPicturesAreStoredReadAndDeleted(t *testing.T) {
	onEachStorage(t, func(t *testing.T, s *Store, keys func() []string) {
		defer s.Close()
		if err := s.Probe(t.Context()); err != nil || len(keys()) != 0 {
			t.Fatalf("Probe = %v, and left %v", err, keys())
		}
		var output bytes.Buffer
		p, err := Process(t.Context(), MaxMemory, bytes.NewReader(asJPEG(t, gradient(1300, 20, 255))), &output,
			func() io.Reader { return &output })
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if len(keys()) != 4 {
			t.Errorf("stored %v", keys())
		}
		var bytes int64
		for _, width := range append([]int{0}, Widths...) {
			picture, err := s.Read(t.Context(), Name(p.File, width))
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(picture)
			if bytes += picture.Size; err != nil || int64(len(content)) != picture.Size {
				t.Errorf("width %d: %d bytes, %v, want %d", width, len(content), err, picture.Size)
			}
			picture.Close()
		}
		if bytes != p.Bytes {
			t.Errorf("all sizes have %d bytes, want %d", bytes, p.Bytes)
		}
		for range 2 { // the second time nothing exists
			if err := s.remove(t.Context(), p.File); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Read(t.Context(), p.File); !errors.Is(err, tenancy.ErrNotFound) {
				t.Errorf("Read of a deleted picture = %v", err)
			}
		}
		if len(keys()) != 0 {
			t.Errorf("left %v", keys())
		}
	})
}

// A write that fails midway leaves nothing.
func TestAnIncompletePictureIsNotStored(t *testing.T) {
	onEachStorage(t, func(t *testing.T, s *Store, keys func() []string) {
		defer s.Close()
		err := s.write(t.Context(), newFile("jpg"), strings.NewReader("half"), 8)
		if !errors.Is(err, ErrStorage) || len(keys()) != 0 {
			t.Errorf("write = %v, stored %v", err, keys())
		}
	})
}

func TestUnusedFilesAreDeleted(t *testing.T) {
	onEachStorage(t, func(t *testing.T, s *Store, keys func() []string) {
		defer s.Close()
		d := tenancytest.New(t)
		a, b := d.MustTenant(t, "a").ID, d.MustTenant(t, "b").ID
		store := func(tenant tenancy.ID) string {
			t.Helper()
			file := newFile("jpg")
			if err := errors.Join(Reserve(t.Context(), d.DB, tenant, file),
				s.write(t.Context(), file, strings.NewReader("full"), 4),
				s.write(t.Context(), Name(file, 160), strings.NewReader("small"), 5)); err != nil {
				t.Fatal(err)
			}
			return file
		}
		recent, old, discarded := store(a), store(b), store(a)
		ofDeleted := store(a)
		if err := s.Discard(t.Context(), d.DB, a, discarded); err != nil {
			t.Fatal(err)
		}
		due := fmt.Sprintf(`update unused_media set due = now() where file in ('%s', '%s')`, old, ofDeleted)
		super := d.MustSuper(t)
		if _, err := super.Exec(t.Context(), due); err != nil {
			t.Fatal(err)
		}
		deleted, err := s.DeleteUnused(t.Context(), d.DB)
		if err != nil || deleted != 2 || len(keys()) != 2 || !strings.Contains(keys()[1], recent[:26]) {
			t.Errorf("deleted %d, %v, left %v", deleted, err, keys())
		}
		if err := tenancy.DeleteTenant(t.Context(), d.Admin, "a"); err != nil {
			t.Fatal(err)
		}
		if deleted, err = s.DeleteUnused(t.Context(), d.DB); err != nil || deleted != 0 {
			t.Errorf("deleted %d, %v, which the deleted tenant's upload may still write", deleted, err)
		}
		if _, err := super.Exec(t.Context(), `update unused_media set due = now()`); err != nil {
			t.Fatal(err)
		}
		deleted, err = s.DeleteUnused(t.Context(), d.DB)
		var rows int
		if count := super.QueryRow(t.Context(), `select count(*) from unused_media`).Scan(&rows); count != nil {
			t.Fatal(count)
		}
		if err != nil || deleted != 1 || len(keys()) != 0 || rows != 0 {
			t.Errorf("after deleting the tenant: deleted %d, %v, left %v and %d rows", deleted, err, keys(), rows)
		}
	})
}

func TestAFileIsTriedAgainAfterTheStorageFailed(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	tenant := d.MustTenant(t, "a").ID
	dir := filepath.Join(t.TempDir(), "media")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := Open("file://" + dir)
	super := d.MustSuper(t)
	makeDue := func() {
		if _, err := super.Exec(t.Context(), `update unused_media set due = now()`); err != nil {
			t.Fatal(err)
		}
	}
	if err := Reserve(t.Context(), d.DB, tenant, newFile("png")); err != nil {
		t.Fatal(err)
	}
	makeDue()
	if _, err := s.DeleteUnused(t.Context(), d.DB); !errors.Is(err, ErrStorage) {
		t.Errorf("DeleteUnused = %v, want ErrStorage", err)
	}
	if n, err := s.DeleteUnused(t.Context(), d.DB); n != 0 || err != nil {
		t.Errorf("DeleteUnused within ten minutes = %d, %v", n, err)
	}
	makeDue()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if n, err := s.DeleteUnused(t.Context(), d.DB); n != 1 || err != nil {
		t.Errorf("DeleteUnused later = %d, %v", n, err)
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"file:///srv/media":               "",
		"s3://bucket?region=eu-central-1": "",
		"azblob://container":              "",
		"gs://bucket":                     "needs a program that was built with the tag gcs",
		"file://srv/media":                "must have an absolute path",
		"/srv/media":                      "must begin with file://, s3://, azblob://",
		"http://user:secret@example.com":  "must begin with",
		"s3://user:secret@bucket\x7f":     "must be a URL",
		"mem://":                          "must begin with",
	} {
		err := CheckURL(address)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("CheckURL(%q) = %v, want %q", address, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("CheckURL(%q) quotes the URL: %v", address, err)
		}
	}
}

// A reservation at the time of the deletion is either kept or refused.
func TestAFileIsReservedWhileItsTenantIsDeleted(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	tenant := d.MustTenant(t, "a").ID
	super, reader := d.MustSuper(t), d.MustSuper(t)
	awaitLock := func(ended chan error) {
		t.Helper()
		for waits := false; !waits && len(ended) == 0; time.Sleep(10 * time.Millisecond) {
			if err := reader.QueryRow(t.Context(), `select exists (select from pg_stat_activity
				where datname = current_database() and wait_event_type = 'Lock')`).Scan(&waits); err != nil {
				t.Fatal(err)
			}
		}
	}
	tx, err := super.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reserve := fmt.Sprintf(`set local app.tenant_id = '%d'; select reserve_media('A.jpg')`, tenant)
	if _, err := tx.Exec(t.Context(), reserve); err != nil {
		t.Fatal(err)
	}
	deleted := make(chan error, 1)
	go func() { deleted <- tenancy.DeleteTenant(t.Context(), d.Admin, "a") }()
	awaitLock(deleted)
	if err := errors.Join(tx.Commit(t.Context()), <-deleted); err != nil {
		t.Fatal(err)
	}
	var kept string
	if err := reader.QueryRow(t.Context(), `select string_agg(tenant_id || ' ' || file, ',') from unused_media`).
		Scan(&kept); err != nil || kept != "0 A.jpg" {
		t.Errorf("kept %q, %v", kept, err)
	}

	other := d.MustTenant(t, "b").ID
	if tx, err = super.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `delete from tenants where id = $1`, other); err != nil {
		t.Fatal(err)
	}
	reserved := make(chan error, 1)
	go func() { reserved <- Reserve(t.Context(), d.DB, other, "B.jpg") }()
	awaitLock(reserved)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-reserved; !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("Reserve for a deleted tenant = %v", err)
	}
}
