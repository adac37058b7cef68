package api

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
)

const (
	patchType = "application/merge-patch+json"
	formType  = "multipart/form-data"
	// acceptPatch are the types of the bodies that PATCH accepts.
	acceptPatch = jsonType + ", " + patchType
)

// checkJSONContent accepts application/json, for PATCH also application/merge-patch+json, with any charset and without
// compression. Its error is a 415 that names what is wrong.
func checkJSONContent(r *http.Request) error {
	types, wanted := []string{jsonType}, jsonType
	if r.Method == http.MethodPatch {
		types, wanted = append(types, patchType), jsonType+" or "+patchType
	}
	mediaType, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	delete(parameters, "charset")
	if err != nil || !slices.Contains(types, mediaType) || len(parameters) > 0 || !isIdentity(r.Header) {
		return unsupportedContent(r.Header, "the body as "+wanted)
	}
	return nil
}

// formBoundary returns the boundary of a body with the content type multipart/form-data, or a 415.
func formBoundary(h http.Header) (string, error) {
	mediaType, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || mediaType != formType || parameters["boundary"] == "" || !isIdentity(h) {
		return "", unsupportedContent(h, "the body as "+formType+" with a boundary")
	}
	return parameters["boundary"], nil
}

// isIdentity reports whether a body is not compressed.
func isIdentity(h http.Header) bool {
	codings := strings.Split(strings.Join(h.Values("Content-Encoding"), ","), ",")
	return !slices.ContainsFunc(codings, func(coding string) bool {
		coding = strings.TrimSpace(coding)
		return coding != "" && !strings.EqualFold(coding, "identity")
	})
}

// unsupportedContent returns the 415 for the headers of a request. wanted is what the client can send.
func unsupportedContent(h http.Header, wanted string) error {
	sent := func(header string) string { return cut(strings.Join(h.Values(header), ", "), maxName) }
	message := fmt.Sprintf("The Content-Type %q is not supported. Send %s.", sent("Content-Type"), wanted)
	switch {
	case !isIdentity(h):
		message = fmt.Sprintf("The Content-Encoding %q is not supported. Send the body uncompressed.", sent("Content-Encoding"))
	case sent("Content-Type") == "":
		message = fmt.Sprintf("The Content-Type is missing. Send %s.", wanted)
	}
	return &apiError{code: UnsupportedMediaType, message: message}
}
