package spool

import (
	"errors"
	"io"
	"math"
	"mime/multipart"
)

const (
	maxParts = 100 // of a form
	// maxPartHeader limits the header of a part. mime/multipart accepts 10 MiB, and the parameters in it take ten times as
	// much memory.
	maxPartHeader = 64 << 10
)

var (
	errParts      = errors.New("the form has too many parts")
	errPartHeader = errors.New("the header of a part of the form is too large")
)

// Form reads the parts of a body with the content type multipart/form-data.
type Form struct {
	parts *multipart.Reader
	body  *limitedBody
	part  *multipart.Part // the last one, or nil
	read  int             // parts
}

// NewForm returns the form in a body.
func NewForm(body io.Reader, boundary string) *Form {
	limited := &limitedBody{body: body}
	return &Form{parts: multipart.NewReader(limited, boundary), body: limited}
}

// NextPart returns the next part, or io.EOF.
func (f *Form) NextPart() (*multipart.Part, error) { return f.next(f.parts.NextPart) }

// NextRawPart is NextPart, but does not decode the content.
func (f *Form) NextRawPart() (*multipart.Part, error) { return f.next(f.parts.NextRawPart) }

func (f *Form) next(next func() (*multipart.Part, error)) (part *multipart.Part, err error) {
	if f.part != nil {
		_ = f.part.Close() // reads the rest of its content, which is no header
	}
	if f.read++; f.read > maxParts {
		return nil, errParts
	}
	f.body.left = maxPartHeader
	f.part, err = next()
	f.body.left = math.MaxInt
	return f.part, err
}

// limitedBody returns errPartHeader after a number of bytes.
type limitedBody struct {
	body io.Reader
	left int
}

// Read implements io.Reader.
func (l *limitedBody) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errPartHeader
	}
	n, err := l.body.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
