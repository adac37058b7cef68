package media

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// storages are the storages of onEachStorage by name. Each function returns an empty one, and a function that lists the
// keys of the stored objects. server_ops_test.go adds another one.
var storages = map[string]func(t *testing.T) (s *Store, keys func() []string){
	"folder": func(t *testing.T) (*Store, func() []string) {
		dir := filepath.Join(t.TempDir(), "new", "folder")
		return Open("file://" + dir), func() (keys []string) {
			_ = filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
				if err == nil && !info.IsDir() {
					keys = append(keys, strings.TrimPrefix(path, dir+"/"))
				}
				return nil
			})
			return keys
		}
	},
	"S3 in memory": func(t *testing.T) (*Store, func() []string) {
		setCredentials(t)
		backend := s3mem.New()
		server := httptest.NewServer(gofakes3.New(backend).Server())
		t.Cleanup(server.Close)
		if err := backend.CreateBucket("pictures"); err != nil {
			t.Fatal(err)
		}
		return Open(s3URL(server.URL)), func() (keys []string) {
			all, err := backend.ListBucket("pictures", nil, gofakes3.ListBucketPage{})
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range all.Contents {
				keys = append(keys, object.Key)
			}
			return keys
		}
	},
}

// setCredentials sets those of the S3 servers of tests.
func setCredentials(t *testing.T) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// s3URL returns the URL of the bucket pictures of a server.
func s3URL(endpoint string) string {
	return "s3://pictures?region=us-east-1&use_path_style=true&endpoint=" + endpoint
}

// onEachStorage runs a test on each of storages.
func onEachStorage(t *testing.T, f func(t *testing.T, s *Store, keys func() []string)) {
	for name, open := range storages {
		t.Run(name, func(t *testing.T) {
			s, keys := open(t)
			defer s.Close()
			f(t, s, keys)
		})
	}
}

func TestPicturesAreStoredReadAndDeleted(t *testing.T) {
	onEachStorage(t, func(t *testing.T, s *Store, keys func() []string) {
		if err := s.Probe(t.Context()); err != nil || len(keys()) != 0 {
			t.Fatalf("Probe = %v, and left %v", err, keys())
		}
		var output bytes.Buffer
		p, err := Process(t.Context(), 1, MaxMemory, bytes.NewReader(asJPEG(t, gradient(1300, 20, 255))), &output,
			func() (io.Reader, error) { return &output, nil })
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
		err := s.write(t.Context(), newFile(1, "jpg"), strings.NewReader("half"), 8)
		if !errors.Is(err, ErrStorage) || len(keys()) != 0 {
			t.Errorf("write = %v, stored %v", err, keys())
		}
	})
}

// The client of S3 uploads a file of this size in parts.
func TestALargeFileIsStored(t *testing.T) {
	onEachStorage(t, func(t *testing.T, s *Store, keys func() []string) {
		content := make([]byte, 12<<20)
		for i := range content {
			content[i] = byte(i * 2654435761 >> 16)
		}
		file := newFile(1, "png")
		if err := s.write(t.Context(), file, bytes.NewReader(content), int64(len(content))); err != nil {
			t.Fatal(err)
		}
		picture, err := s.Read(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		defer picture.Close()
		if stored, err := io.ReadAll(picture); err != nil || !bytes.Equal(stored, content) {
			t.Errorf("read %d bytes, %v, want the %d that were written", len(stored), err, len(content))
		}
		err = s.write(t.Context(), newFile(1, "png"), io.MultiReader(bytes.NewReader(content), failingReader{}), 16<<20)
		if !errors.Is(err, ErrStorage) || len(keys()) != 1 {
			t.Errorf("an incomplete write = %v, stored %v", err, keys())
		}
	})
}

// failingReader is an upload that breaks off.
type failingReader struct{}

// Read implements io.Reader.
func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// If the server refuses a file or does not answer, Store returns an error before the deadline and stores nothing.
func TestAServerThatFailsOrDoesNotAnswer(t *testing.T) {
	setCredentials(t)
	for name, answer := range map[string]http.HandlerFunc{
		"fails":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"is full": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInsufficientStorage) },
		"is silent": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // otherwise the context does not end
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			defer server.Close()
			s := Open(s3URL(server.URL))
			defer s.Close()
			const timeout = time.Second
			for operation, do := range map[string]func(context.Context) error{
				"write": func(ctx context.Context) error {
					return s.write(ctx, newFile(1, "jpg"), strings.NewReader("full"), 4)
				},
				"read": func(ctx context.Context) error {
					_, err := s.Read(ctx, newFile(1, "jpg"))
					return err
				},
				"delete": func(ctx context.Context) error { return s.remove(ctx, newFile(1, "jpg")) },
			} {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				began := time.Now()
				err := do(ctx)
				cancel()
				if took := time.Since(began); !errors.Is(err, ErrStorage) || took > 10*timeout {
					t.Errorf("%s = %v after %v, want ErrStorage after at most about %v", operation, err, took, timeout)
				}
			}
		})
	}
}

func TestUnusedFilesAreDeleted(t *testing.T) {
	onEachStorage(t, func(t *testing.T, s *Store, keys func() []string) {
		d := dbtest.New(t)
		a, b := d.MustTenant(t, "a").ID, d.MustTenant(t, "b").ID
		store := func(tenant tenancy.ID) string {
			t.Helper()
			file := newFile(tenant, "jpg")
			if err := errors.Join(Reserve(t.Context(), d.DB, tenant, file),
				s.write(t.Context(), file, strings.NewReader("full"), 4),
				s.write(t.Context(), Name(file, 160), strings.NewReader("small"), 5)); err != nil {
				t.Fatal(err)
			}
			return file
		}
		recent, old, released := store(a), store(b), store(a)
		ofDeleted := store(a)
		if err := Release(t.Context(), d.DB, a, released); err != nil {
			t.Fatal(err)
		}
		due := fmt.Sprintf(`update unused_media set due = now() where file in ('%s', '%s')`, old, ofDeleted)
		super := d.MustSuper(t)
		if _, err := super.Exec(t.Context(), due); err != nil {
			t.Fatal(err)
		}
		deleted, err := s.DeleteUnused(t.Context(), d.DB)
		if err != nil || deleted != 3 || len(keys()) != 2 || !strings.Contains(keys()[1], recent[:26]) {
			t.Errorf("deleted %d, %v, left %v", deleted, err, keys())
		}
		if err := tenants.Delete(t.Context(), d.Admin, "a"); err != nil {
			t.Fatal(err)
		}
		if deleted, err = s.DeleteUnused(t.Context(), d.DB); err != nil || deleted != 0 {
			t.Errorf("deleted %d, %v, which the deleted tenant's upload may still write", deleted, err)
		}
		if _, err := super.Exec(t.Context(),
			`update unused_media set due = now(); update tenants_with_work set due = now()`); err != nil {
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

// A process that is killed while it writes a file leaves a temporary file.
func TestTemporaryFilesAreDeleted(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "media[1] %") // none of these is a pattern or an escape
	s := Open((&url.URL{Scheme: "file", Path: folder}).String())
	t.Cleanup(func() { _ = s.Close() })
	file, other := newFile(1, "jpg"), newFile(1, "jpg")
	bucket, err := s.bucket(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Name(file, 160), file, other} {
		w, err := bucket.NewWriter(t.Context(), key(name), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, 1<<20)); err != nil { // which is larger than the buffer
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Close() })
	}
	if err := s.remove(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	left, err := fs.Glob(os.DirFS(folder), "*/*")
	if err != nil || len(left) != 1 || !strings.HasPrefix(left[0], key(other)+".") {
		t.Errorf("left %v, %v, want one of %s", left, err, other)
	}
}

func TestAFileIsTriedAgainAfterTheStorageFailed(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "a").ID
	dir := filepath.Join(t.TempDir(), "media")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := Open("file://" + dir)
	super := d.MustSuper(t)
	makeDue := func() {
		if _, err := super.Exec(t.Context(),
			`update unused_media set due = now(); update tenants_with_work set due = now()`); err != nil {
			t.Fatal(err)
		}
	}
	if err := Reserve(t.Context(), d.DB, tenant, newFile(tenant, "png")); err != nil {
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
	dbtest.SkipOnCitus(t, "the coordinator, which the test asks, reserves no files")
	d := dbtest.New(t)
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
	go func() { deleted <- tenants.Delete(t.Context(), d.Admin, "a") }()
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
	for _, of := range []string{"channels where tenant_id", "warehouses where tenant_id", "tenants where id"} {
		if _, err := tx.Exec(t.Context(), `delete from `+of+` = $1`, other); err != nil {
			t.Fatal(err)
		}
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

// A hostile statement of the runtime role, with its own tenant, must not make an instance delete a file of another.
func TestATenantCannotDeleteTheFilesOfAnother(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	hostile, victim := d.MustTenant(t, "a").ID, d.MustTenant(t, "b").ID
	old := rand.Text() + ".jpg" // as an earlier release names it
	d.MustOldPicture(t, victim, old)
	file := newFile(victim, "png")
	for _, name := range []string{file, Name(file, 160), old, Name(old, 480)} {
		_, inserted := d.DB.Exec(t.Context(), hostile,
			`insert into unused_media (tenant_id, due, file) values ($1, now(), $2)`, hostile, name)
		_, ofDeleted := d.DB.Exec(t.Context(), 0, `insert into unused_media (tenant_id, due, file) values (0, now(), $1)`, name)
		for how, err := range map[string]error{"insert": inserted, "insert for deleted tenants": ofDeleted} {
			if db.SQLState(err) != "42501" {
				t.Errorf("%s of %s = %v, want insufficient_privilege", how, name, err)
			}
		}
		if name != file {
			continue
		}
		if _, err := d.DB.Exec(t.Context(), victim,
			`insert into unused_media (tenant_id, due, file) values ($1, now(), $2)`, victim, name); err != nil {
			t.Errorf("the owner's insert = %v", err)
		}
	}
	if err := Reserve(t.Context(), d.DB, hostile, old); db.SQLState(err) != "42501" {
		t.Errorf("Reserve of another tenant's file = %v, want insufficient_privilege", err)
	}
	if err := Reserve(t.Context(), d.DB, hostile, newFile(hostile, "jpg")); err != nil {
		t.Errorf("Reserve = %v", err)
	}
}
