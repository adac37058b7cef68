package pages

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/spool"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// maxPicture is the maximum size of a form with a picture in bytes.
const maxPicture = media.MaxUpload + MaxForm

// picture returns the path of a small version of an image, or "" if it is on another server.
func picture(image catalog.Image) string { return thumb([]catalog.Image{image}) }

// addPicture adds the picture of a form to a product, once for a form that is sent twice.
func (p *Handler) addPicture(w http.ResponseWriter, r *http.Request, u user) error {
	id := pathID(r)
	request, file, err := pictureForm(r)
	if err != nil {
		return err
	}
	f := form{url.Values{"request": {request}}, fieldErrors{}}
	if !f.hasRequest() {
		return ErrForm
	}
	content := sha256.New()
	add := func(image catalog.Image, quota int64) error {
		f.Set("file", hex.EncodeToString(content.Sum(nil))) // another file is not the same form
		return p.once(w, r, u, f, func(u user) (string, error) {
			added, err := u.catalog().AddUpload(r.Context(), u.member(), id, image, quota)
			if err != nil {
				return "", err
			}
			return u.path(fmt.Sprintf("/products/%d/edit#pictures", id)), p.auditPicture(r, u, id, "added", added.ID)
		})
	}
	err = p.AddPicture(r, u.db, u.Tenant.ID, id, io.TeeReader(file, content), add)
	if invalid, isInvalid := errors.AsType[tenancy.InvalidError](err); isInvalid {
		f.Errors["file"] = u.T("The picture was not added. Is it one of these formats, and is there room?")
		for _, problems := range invalid {
			if text := u.Format.Sentence(problems[0]); text != problems[0] || u.Format.Code == "en" {
				f.Errors["file"] = u.T("The picture was not added: it %s.", text)
			}
		}
		return p.showPictureError(w, r, u, id, f.Errors)
	}
	return err
}

// pictureForm returns the field request and the file of a form, which is read last.
func pictureForm(r *http.Request) (request string, file io.Reader, err error) {
	mediaType, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "multipart/form-data" || parameters["boundary"] == "" {
		return "", nil, ErrForm
	}
	const maxField = 1 << 10
	parts := spool.NewForm(r.Body, parameters["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			return "", nil, fmt.Errorf("%w: %w", ErrForm, err)
		}
		switch part.FormName() {
		case "file":
			return request, part, nil
		case "request":
			text, err := io.ReadAll(io.LimitReader(part, maxField))
			if err != nil {
				return "", nil, fmt.Errorf("%w: %w", ErrForm, err)
			}
			request = string(text)
		}
	}
}

func (p *Handler) showPictureError(w http.ResponseWriter, r *http.Request, u user, id int64, problems fieldErrors) error {
	product, err := u.catalog().Product(r.Context(), u.Tenant.ID, id)
	if err != nil {
		return err
	}
	values := productValues(product, u)
	values.Set("version", versionOf(values))
	values.Set("request", rand.Text())
	return p.showEditWith(w, r, u, http.StatusUnprocessableEntity, editPage{form: form{values, problems}, Product: product})
}

// removePicture removes an image of a product. It may be gone already.
func (p *Handler) removePicture(w http.ResponseWriter, r *http.Request, u user) error {
	id := pathID(r)
	image, err := strconv.ParseInt(chi.URLParam(r, "picture"), 10, 64)
	if err != nil {
		return tenancy.ErrNotFound
	}
	if _, err := u.catalog().Product(r.Context(), u.Tenant.ID, id); err != nil {
		return err
	}
	within, err := u.db.Begin(r.Context(), u.Tenant.ID, func(*pgx.Batch) {})
	if err != nil {
		return err
	}
	defer within.Rollback(r.Context())
	inside := u
	inside.db = within
	err = inside.catalog().RemoveImage(r.Context(), u.member(), id, image)
	if err == nil {
		if err = p.auditPicture(r, inside, id, "removed", image); err == nil {
			err = within.Commit(r.Context(), func(*pgx.Batch) {})
		}
	}
	if err != nil && !errors.Is(err, tenancy.ErrNotFound) {
		return err
	}
	redirect(w, r, u.path(fmt.Sprintf("/products/%d/edit#pictures", id)))
	return nil
}

// auditPicture records a change of the pictures of a product.
func (p *Handler) auditPicture(r *http.Request, u user, id int64, what string, image int64) error {
	product, err := u.catalog().Product(r.Context(), u.Tenant.ID, id)
	if err != nil {
		return err
	}
	entry := tenants.Entry{Action: "product.change", Target: product.SKU, Details: map[string]any{
		"fields": []string{"images"}, "picture_" + what: image,
	}}
	return u.db.Run(r.Context(), u.Tenant.ID, func(b *pgx.Batch) {
		tenants.QueueAudit(b, u.Tenant.ID, p.by(r, u), entry)
	})
}

// Request returns new text for a form of pictures.
func (p editPage) Request() string { return rand.Text() }
