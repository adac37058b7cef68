package api

import (
	"encoding/json"
	"net/http"

	"github.com/storeroom/storeroom/catalog"
)

// imageID is an image in a path.
type imageID struct{ product, image int64 }

// pathImage reads the {id} and {image_id} of a path that takes no parameters.
func pathImage(r *http.Request) (imageID, error) {
	q := readQuery(r)
	id := imageID{q.pathID(r, "id"), q.pathID(r, "image_id")}
	return id, q.err()
}

// addImage handles POST /api/products/{id}/images.
func (s *Server) addImage(w http.ResponseWriter, r *http.Request, product int64) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	image := catalog.Image{URL: required(body, "url", parseText)}
	body.rejectUnknown()
	image, err = s.Catalog.AddImage(r.Context(), actor(r), product, image, body.errs)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusCreated, image)
}

// moveImage handles PATCH /api/products/{id}/images/{image_id}.
func (s *Server) moveImage(w http.ResponseWriter, r *http.Request, id imageID) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	position := required(body, "position", parseInteger)
	body.rejectUnknown()
	image, err := s.Catalog.MoveImage(r.Context(), actor(r), id.product, id.image, position, body.errs)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, image)
}

// removeImage handles DELETE /api/products/{id}/images/{image_id}.
func (s *Server) removeImage(w http.ResponseWriter, r *http.Request, id imageID) error {
	if err := s.Catalog.RemoveImage(r.Context(), actor(r), id.product, id.image); err != nil {
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

// parseElementURL returns a valid URL with an error, so that the rules of URLs add no second error.
func parseElementURL(raw json.RawMessage) (string, error) {
	text, err := parseText(raw)
	if err != nil {
		return "https://invalid", err
	}
	return text, nil
}
