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

// writeProduct sends a product and its entity tag.
func (s *Server) writeProduct(w http.ResponseWriter, status int, p catalog.Product) error {
	return s.writeProductIf(w, status, p, conditions{})
}

// writeProductIf sends a product and its entity tag, a 412 if the product does not match If-Match, or a 304 if its tag
// is in If-None-Match.
func (s *Server) writeProductIf(w http.ResponseWriter, status int, p catalog.Product, c conditions) error {
	body, etag, err := s.encodeProduct(p)
	if err != nil {
		return err
	}
	if c.mismatches(etag) {
		return catalog.ErrPrecondition
	}
	h := w.Header()
	h.Set("ETag", etag)
	// A cache sends the stored response with the tag of a 304. Its client may accept only the encoding that it asked
	// for, or an uncompressed response.
	if tag := c.noneMatch.match(true, codingOf(w, len(body)).etag(etag), etag); tag != "" {
		varies(h)
		h.Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	writeBody(w, status, jsonType, body)
	return nil
}

// conditions are the headers If-Match and If-None-Match of a request.
type conditions struct{ match, noneMatch tags }

// readConditions reads the headers of a route whose object has an entity tag.
func readConditions(r *http.Request) (c conditions, err error) {
	invalid := tenancy.InvalidError{}
	for header, tags := range map[string]*tags{"If-Match": &c.match, "If-None-Match": &c.noneMatch} {
		var malformed bool
		if *tags, malformed = entityTags(r, header); malformed {
			invalid.Add(header, `must be * or a list of entity tags such as "33a64df5"`)
		}
	}
	if len(invalid) > 0 {
		return c, &apiError{code: InvalidHeader, details: invalid}
	}
	return c, nil
}

// mismatches reports whether the headers have If-Match without the tag of the object.
func (c conditions) mismatches(etag string) bool {
	return c.match != nil && c.match.match(false, variants(etag)...) == ""
}

// forbidWrite reports whether a write of the object with this tag is a 412.
func (c conditions) forbidWrite(etag string) bool {
	return c.mismatches(etag) || c.noneMatch.match(true, variants(etag)...) != ""
}

// variants returns the tags of an object in all content codings. Each identifies the state that the client has read,
// and a write does not select one by Accept-Encoding.
func variants(etag string) []string {
	all := []string{etag}
	for _, c := range codings {
		all = append(all, c.etag(etag))
	}
	return all
}

// precondition returns the precondition of a write, or nil without one. The catalog checks it while it holds the lock
// of the product.
func (s *Server) precondition(r *http.Request) (catalog.Precondition, error) {
	c, err := readConditions(r)
	if err != nil || c.match == nil && c.noneMatch == nil {
		return nil, err
	}
	return func(p catalog.Product) error {
		_, etag, err := s.encodeProduct(p)
		if err == nil && c.forbidWrite(etag) {
			err = catalog.ErrPrecondition
		}
		return err
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
	entityTag = regexp.MustCompile(tagPattern)
	// entityTagList also matches empty elements, which recipients of lists ignore.
	entityTagList = regexp.MustCompile("^[ \t,]*" + tagPattern + "(?:[ \t]*,[ \t,]*" + tagPattern + ")*[ \t,]*$")
)

// entityTags parses a list of entity tags, or *. It returns nil without the header.
func entityTags(r *http.Request, header string) (list tags, malformed bool) {
	values := r.Header.Values(header)
	text := strings.TrimSpace(strings.Join(values, ","))
	switch {
	case len(values) == 0:
		return nil, false
	case text == "*":
		return tags{"*"}, false
	case entityTagList.MatchString(text):
		return entityTag.FindAllString(text, -1), false
	}
	return nil, true
}
