package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/idempotency"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/spool"
)

const (
	uploadDeadline  = 75 * time.Second // waits, decodes and stores
	pictureDeadline = time.Minute
)

// imageJSON is an image in a response.
type imageJSON struct {
	ID       int64  `json:"id"`
	URL      string `json:"url"`
	Position int32  `json:"position"`
	// Thumbnails are URLs by width. A size that the picture already fits has the URL of the picture. An external image
	// has none.
	Thumbnails map[int]string `json:"thumbnails"`
}

func (s *Server) imageShape(i catalog.Image) imageJSON {
	shape := imageJSON{ID: i.ID, URL: i.URL, Position: i.Position}
	if i.File != "" {
		shape.URL = s.mediaURL + media.Name(i.File, 0)
		shape.Thumbnails = map[int]string{}
		for _, width := range media.Widths {
			shape.Thumbnails[width] = shape.URL
			if media.Has(int(i.Width), int(i.Height), width) {
				shape.Thumbnails[width] = s.mediaURL + media.Name(i.File, width)
			}
		}
	}
	return shape
}

// imageID is an image in a path.
type imageID struct{ product, image int64 }

// pathImage reads the {id} and {image_id} of a path that takes no parameters.
func pathImage(r *http.Request) (imageID, error) {
	q := readQuery(r)
	id := imageID{q.pathID(r, "id"), q.pathID(r, "image_id")}
	return id, q.err()
}

// addImage handles POST /api/products/{id}/images: a file, or JSON with a URL.
func (s *Server) addImage(w http.ResponseWriter, r *http.Request, product int64) error {
	boundary, unsupported := formBoundary(r.Header)
	if unsupported == nil {
		return s.uploadImage(w, r, product, boundary)
	}
	return s.once(func(w http.ResponseWriter, r *http.Request) error {
		if checkJSONContent(r) != nil {
			return unsupportedContent(r.Header, "a file as multipart/form-data with a boundary, or a URL as application/json")
		}
		body, err := readBody(r)
		if err != nil {
			return err
		}
		image := catalog.Image{URL: required(body, "url", parseText)}
		body.rejectUnknown()
		if image, err = s.catalog(r).AddImage(r.Context(), actor(r), product, image, body.errs); err != nil {
			return err
		}
		return writeData(w, http.StatusCreated, s.imageShape(image))
	})(w, r)
}

// addImageFile handles POST /api/products/{id}/images/file.
func (s *Server) addImageFile(w http.ResponseWriter, r *http.Request, product int64) error {
	boundary, err := formBoundary(r.Header)
	if err != nil {
		return err
	}
	return s.uploadImage(w, r, product, boundary)
}

// errAllowed reports that an upload was not refused and that its key has no response.
var errAllowed = errors.New("the picture may be stored")

// uploadImage stores the picture in the body. It uses no database connection while it decodes or writes to the storage.
// A repeated upload gets the stored response, even if another one would be refused.
func (s *Server) uploadImage(w http.ResponseWriter, r *http.Request, product int64, boundary string) error {
	if err := readQuery(r).err(); err != nil {
		return err
	}
	digest := func(r *http.Request) (idempotency.Fingerprint, error) {
		h := newFingerprint(r)
		if part, err := spool.NewForm(stateOf(r).body.Reader(), boundary).NextRawPart(); err == nil {
			_, _ = io.Copy(h, part) // decodeUpload refuses a form that is not valid
		}
		return idempotency.Fingerprint(h.Sum(nil)), nil
	}
	check := func(_ http.ResponseWriter, r *http.Request) error {
		return cmp.Or(s.catalog(r).CheckUpload(r.Context(), tenant(r), product, s.MediaQuota), errAllowed)
	}
	if err := s.onceFor(digest, check)(w, r); err != errAllowed {
		return err
	}
	ctx := r.Context()
	buffer := spool.New(stateOf(r).ticket)
	defer buffer.Close()
	picture, err := s.decodeUpload(r, boundary, buffer)
	if err != nil {
		return err
	}
	if err := media.Reserve(ctx, s.DB, tenant(r), picture.File); err != nil {
		return err
	}
	defer s.releaseFile(ctx, tenant(r), picture.File)
	if err := s.Media.Write(ctx, picture); err != nil {
		return err
	}
	return s.onceFor(digest, func(w http.ResponseWriter, r *http.Request) error {
		image, err := s.catalog(r).AddUpload(r.Context(), actor(r), product, catalog.Image{
			File: picture.File, Width: int32(picture.Width), Height: int32(picture.Height), Bytes: picture.Bytes,
		}, s.MediaQuota)
		if err != nil {
			return err
		}
		return writeData(w, http.StatusCreated, s.imageShape(image))
	})(w, r)
}

// releaseFile lets the file of an upload be deleted, unless a product uses it. If that fails, it is deleted in an hour.
func (s *Server) releaseFile(ctx context.Context, tenant tenancy.ID, file string) {
	const timeout = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if err := media.Release(ctx, s.DB, tenant, file); err != nil {
		s.Logger.WarnContext(ctx, "an unused picture is deleted only in an hour", "error", err)
	}
}

// decodeUpload decodes the part "file" of the body, and writes the pictures to a buffer. The request already holds the
// place for decoding while it parses the body.
func (s *Server) decodeUpload(
	r *http.Request, boundary string, buffer *spool.Spool,
) (picture media.Processed, err error) {
	release, err := stateOf(r).ticket.Take(r.Context(), limits.Pictures, 1)
	if err != nil {
		return picture, err
	}
	defer release()
	parts := spool.NewForm(stateOf(r).body.Reader(), boundary)
	part, err := parts.NextRawPart()
	if err != nil || part.FormName() != "file" {
		return picture, errOneFile
	}
	upload := &countingReader{from: part}
	picture, err = media.Process(r.Context(), tenant(r), s.ImageMemory, upload, buffer, func() (io.Reader, error) {
		buffer.End(nil)
		return buffer.Reader(), nil
	})
	switch {
	case upload.read > media.MaxUpload:
		return picture, &http.MaxBytesError{Limit: media.MaxUpload}
	case upload.err != nil:
		return picture, errOneFile
	case err != nil:
		return picture, err
	}
	if _, err := parts.NextRawPart(); err != io.EOF {
		return picture, errOneFile
	}
	return picture, nil
}

var errOneFile = tenancy.InvalidError{"file": {"must be the only part of a multipart/form-data body"}}

// countingReader remembers the number of bytes and the error, except io.EOF.
type countingReader struct {
	from io.Reader
	read int64
	err  error
}

// Read implements io.Reader.
func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.read += int64(n)
	if err != io.EOF {
		c.err = err
	}
	return n, err
}

// picturePolicy makes a picture harmless if a browser shows it as a page.
const picturePolicy = "default-src 'none'; sandbox"

// showPicture handles GET /media/{name}. The content of a name never changes.
func (s *Server) showPicture(w http.ResponseWriter, r *http.Request, name string) error {
	ticket := s.Limits.Enter(s.addressUser(r), stateOf(r).route.class())
	defer ticket.Close()
	if err := ticket.Start(r.Context()); err != nil {
		return err
	}
	etag := strconv.Quote(name)
	conditions, err := readConditions(r)
	if err != nil {
		return err
	}
	picture, err := s.Media.Read(r.Context(), name)
	if err != nil {
		return err
	}
	defer picture.Close()
	if conditions.mismatches(etag) {
		return catalog.ErrPrecondition
	}
	h := w.Header()
	h.Set("ETag", etag)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Security-Policy", picturePolicy)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if conditions.noneMatch.match(true, etag) != "" {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", media.ContentType(name))
	h.Set("Content-Length", strconv.FormatInt(picture.Size, 10))
	s.WaitsForClient(r.Context(), true)
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err := io.Copy(w, picture); err != nil {
		stateOf(r).err, stateOf(r).aborted = fmt.Errorf("send a picture: %w", err), true
		panic(http.ErrAbortHandler)
	}
	return nil
}

// moveImage handles PATCH /api/products/{id}/images/{image_id}.
func (s *Server) moveImage(w http.ResponseWriter, r *http.Request, id imageID) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	position := required(body, "position", parseInteger)
	body.rejectUnknown()
	image, err := s.catalog(r).MoveImage(r.Context(), actor(r), id.product, id.image, position, body.errs)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, s.imageShape(image))
}

// removeImage handles DELETE /api/products/{id}/images/{image_id}.
func (s *Server) removeImage(w http.ResponseWriter, r *http.Request, id imageID) error {
	if err := s.catalog(r).RemoveImage(r.Context(), actor(r), id.product, id.image); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// imageURLs takes the URLs of images. An array of objects or an empty one is ignored, so that a client can send back
// what a response contained.
func (o *object) imageURLs() (urls catalog.Field[[]string]) {
	raw, set, null := o.take("images")
	if !set || null {
		return urls
	}
	const kind = "an array of URLs"
	elements, err := splitArray(raw, maxElements, kind)
	if err != nil {
		o.addError("images", err.Error())
		return urls
	}
	objects := 0
	for _, element := range elements {
		if element[0] == '{' {
			objects++
		}
	}
	if objects == len(elements) {
		return urls
	}
	list, err := arrayOf(o, "images", catalog.MaxImages, kind, parseElementURL)(raw)
	if err != nil {
		o.addError("images", err.Error())
		return urls
	}
	return catalog.Value(list)
}

// parseElementURL returns a valid URL with an error, so that the check of URLs adds no second error.
func parseElementURL(raw json.RawMessage) (string, error) {
	text, err := parseText(raw)
	if err != nil {
		return "https://invalid", err
	}
	return text, nil
}
