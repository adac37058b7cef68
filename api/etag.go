package api

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
)

// encodeProduct returns the body of a product and its strong entity tag. The tag is a digest of the
// whole body, including stock and the names of references.
func (s *Server) encodeProduct(p catalog.Product) (body []byte, etag string, err error) {
	if body, err = encode(success{Success: true, Data: s.productShape(p)}); err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(body)
	tag := base64.RawURLEncoding.AppendEncode(append(make([]byte, 0, 22), '"'), sum[:15])
	return body, string(append(tag, '"')), nil
}

// writeProduct sends a product and its entity tag, or a 304 if the tag is among cached.
func (s *Server) writeProduct(w http.ResponseWriter, status int, p catalog.Product, cached tags) error {
	body, etag, err := s.encodeProduct(p)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("ETag", etag)
	// A cache sends the stored response with the tag of a 304. Its client may accept only the encoding that it asked
	// for, or an uncompressed response.
	if tag := cached.match(true, codingOf(w, len(body)).etag(etag), etag); tag != "" {
		varies(h)
		h.Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	writeBody(w, status, jsonType, body)
	return nil
}

// ifMatch returns the precondition of an If-Match header, or nil without the header. The catalog
// checks it while it holds the lock of the product.
func (s *Server) ifMatch(r *http.Request) (catalog.Precondition, error) {
	expected, err := entityTags(r, "If-Match")
	if err != nil || expected == nil {
		return nil, err
	}
	return func(p catalog.Product) error {
		_, etag, err := s.encodeProduct(p)
		if err != nil {
			return err
		}
		// Each variant identifies the state that the client read, and a write does not select one by Accept-Encoding.
		variants := []string{etag}
		for _, c := range codings {
			variants = append(variants, c.etag(etag))
		}
		if expected.match(false, variants...) == "" {
			return catalog.ErrPrecondition
		}
		return nil
	}, nil
}

// tags are the entity tags in a header; nil means that the header is absent.
type tags []string

// match returns the first of etags that is among t, or "". It compares weakly, as If-None-Match requires, or strongly,
// as If-Match requires. In a strong comparison a weak tag never matches.
func (t tags) match(weak bool, etags ...string) string {
	for _, etag := range etags {
		for _, tag := range t {
			if tag == "*" || tag == etag || weak && tag == "W/"+etag {
				return etag
			}
		}
	}
	return ""
}

// tagPattern matches `"…"` and `W/"…"`.
const tagPattern = `(?:W/)?"[^\x00-\x20"\x7F]*"`

var (
	entityTag     = regexp.MustCompile(tagPattern)
	entityTagList = regexp.MustCompile("^" + tagPattern + "(?:[ \t]*,[ \t]*" + tagPattern + ")*$")
)

// entityTags parses a list of entity tags, or *.
func entityTags(r *http.Request, header string) (tags, error) {
	values := r.Header.Values(header)
	list := strings.TrimSpace(strings.Join(values, ","))
	switch {
	case len(values) == 0:
		return nil, nil
	case list == "*":
		return tags{"*"}, nil
	case entityTagList.MatchString(list):
		return entityTag.FindAllString(list, -1), nil
	}
	return nil, &apiError{code: InvalidHeader, details: tenancy.InvalidError{
		header: {`must be * or a list of entity tags such as "33a64df5"`},
	}}
}
