// Package media decodes, stores and reads the pictures of products.
//
// A child process decodes an upload and encodes it again, in several sizes. Only its output is stored, without
// metadata, color profiles or anything else in the upload, so a file in the storage is always a plain JPEG or PNG
// picture. The child has limits of memory and CPU time, because nothing can abort a decoder in this process.
//
// The storage is a folder or a bucket. A picture has a random name, TOKEN.jpg, and its other sizes are TOKEN-160.jpg
// and so on. Files never change. Package catalog records which of them are in use.
package media

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/storeroom/storeroom/tenancy"
)

const (
	// MaxUpload is the number of bytes of an upload.
	MaxUpload = 10 << 20
	// MaxFile is the number of bytes of a file that is decoded. A stored PNG picture can be larger than its upload, and an
	// import of an archive reads it again.
	MaxFile = 27 << 20
	// fullSize is the width and the height of the box that the full picture fits into.
	fullSize = 2560
)

// Widths are the widths of the smaller pictures. Each picture fits into a box of its width and twice the height.
var Widths = []int{160, 480, 1200}

// Has reports whether a picture has a smaller picture of a width.
func Has(width, height, smaller int) bool { return width > smaller || height > 2*smaller }

// ErrStorage reports that the storage failed. The caller may try again.
var ErrStorage = errors.New("the media storage failed")

// newFile returns an unguessable name of a picture. Its last ten letters are a digest of the others and of the tenant, so
// that PostgreSQL can check in owns_file that no tenant deletes a file of another.
func newFile(tenant tenancy.ID, kind string) string {
	token := rand.Text()[:26-ownerLetters]
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", tenant, token))
	for _, b := range sum[:ownerLetters/2] {
		token += string('A'+rune(b>>4)) + string('A'+rune(b&15))
	}
	return token + "." + kind
}

const ownerLetters = 10

// Name returns the name of a size of a file: TOKEN-160.jpg. The width 0 is the full picture.
func Name(file string, width int) string {
	token, kind, _ := strings.Cut(file, ".")
	if width > 0 {
		token += "-" + strconv.Itoa(width)
	}
	return token + "." + kind
}

var namePattern = regexp.MustCompile(`^[A-Z2-7]{26}(-[0-9]{3,4})?\.(jpg|png)$`)

// key returns the key of a name in the storage. A folder has at most 1,024 subfolders.
func key(name string) string { return name[:2] + "/" + name }

// ContentType returns the content type of a name.
func ContentType(name string) string {
	if strings.HasSuffix(name, ".png") {
		return "image/png"
	}
	return "image/jpeg"
}

// Store is the storage of pictures. It is safe for concurrent use.
type Store struct {
	url string

	mu     sync.Mutex
	opened *blob.Bucket // nil until it could be opened
}

// schemes are the storages that this program has.
func schemes() []string {
	return slices.DeleteFunc([]string{"file", "s3", "azblob", "gs"}, func(scheme string) bool {
		return !blob.DefaultURLMux().ValidBucketScheme(scheme)
	})
}

// CheckURL returns an error if a URL is not that of a storage. The error does not quote the URL.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("must be a URL such as file:///var/lib/storeroom/media or s3://BUCKET?region=REGION")
	case !slices.Contains(schemes(), u.Scheme):
		text := "must begin with " + strings.Join(schemes(), "://, ") + "://"
		if u.Scheme == "gs" {
			text += ": gs:// needs a program that was built with the tag gcs"
		}
		return errors.New(text)
	case u.Scheme == "file" && (u.Host != "" || !strings.HasPrefix(u.Path, "/")):
		return errors.New("must have an absolute path: file:///var/lib/storeroom/media")
	}
	return nil
}

// Open returns the store of a URL that CheckURL accepts. It connects when it is used.
func Open(address string) *Store { return &Store{url: address} }

// bucket opens the storage. A folder is created.
func (s *Store) bucket(ctx context.Context) (*blob.Bucket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened != nil {
		return s.opened, nil
	}
	u, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "file" {
		u.RawQuery = "create_dir=true&no_tmp_dir=true&metadata=skip"
	}
	s.opened, err = blob.OpenBucket(context.WithoutCancel(ctx), u.String()) // credentials keep the context
	return s.opened, err
}

// Close closes the connections.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened == nil {
		return nil
	}
	return s.opened.Close()
}

// probeTimeout bounds the check of the storage at the start.
const probeTimeout = 5 * time.Second

// Probe writes a file and deletes it.
func (s *Store) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	bucket, err := s.bucket(ctx)
	if err == nil {
		name := "probe-" + rand.Text()
		if err = bucket.WriteAll(ctx, name, []byte("probe"), nil); err == nil {
			err = bucket.Delete(ctx, name)
		}
	}
	return s.failed(ctx, "probe", err)
}

// failed counts an error and returns it as an ErrStorage.
func (s *Store) failed(ctx context.Context, operation string, err error) error {
	if err == nil {
		return nil
	}
	countFailure(ctx, operation)
	return fmt.Errorf("%w: %s: %w", ErrStorage, operation, err)
}

// write stores one size of a file.
func (s *Store) write(ctx context.Context, name string, content io.Reader, size int64) error {
	bucket, err := s.bucket(ctx)
	if err != nil {
		return s.failed(ctx, "open", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends a write that was not closed without storing anything
	w, err := bucket.NewWriter(ctx, key(name), &blob.WriterOptions{ContentType: ContentType(name)})
	if err != nil {
		return s.failed(ctx, "write", err)
	}
	if _, err := io.CopyN(w, content, size); err != nil {
		cancel()
		_ = w.Close()
		return s.failed(ctx, "write", err)
	}
	return s.failed(ctx, "write", w.Close())
}

// Picture is a file in the storage that is being read.
type Picture struct {
	io.ReadCloser
	Size int64
}

// Read opens a size of a file. It returns ErrNotFound for a name that does not exist.
func (s *Store) Read(ctx context.Context, name string) (*Picture, error) {
	if !namePattern.MatchString(name) {
		return nil, tenancy.ErrNotFound
	}
	bucket, err := s.bucket(ctx)
	if err != nil {
		return nil, s.failed(ctx, "open", err)
	}
	r, err := bucket.NewReader(ctx, key(name), nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, tenancy.ErrNotFound
	}
	if err != nil {
		return nil, s.failed(ctx, "read", err)
	}
	return &Picture{r, r.Size()}, nil
}

// remove deletes all sizes of a file, as far as they exist.
func (s *Store) remove(ctx context.Context, file string) error {
	if !namePattern.MatchString(file) {
		return nil // nothing has stored it
	}
	bucket, err := s.bucket(ctx)
	if err != nil {
		return s.failed(ctx, "open", err)
	}
	for _, width := range append([]int{0}, Widths...) {
		err := bucket.Delete(ctx, key(Name(file, width)))
		if err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return s.failed(ctx, "delete", err)
		}
		if err := s.removeUnfinished(key(Name(file, width))); err != nil {
			return s.failed(ctx, "delete", err)
		}
	}
	return nil
}

// removeUnfinished deletes the temporary files of a key that killed processes left in a folder. Other storages have
// only complete files.
func (s *Store) removeUnfinished(key string) error {
	u, err := url.Parse(s.url)
	if err != nil || u.Scheme != "file" {
		return err
	}
	names, err := fs.Glob(os.DirFS(u.Path), key+".*.tmp") // fileblob names them so
	for _, name := range names {
		if removeErr := os.Remove(filepath.Join(u.Path, name)); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	return err
}
