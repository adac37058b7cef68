package spool_test

import (
	"io"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/tenancy/spool"
)

func TestPartsOfAForm(t *testing.T) {
	t.Parallel()
	const part = "--x\r\nContent-Disposition: form-data; name=form-token\r\n\r\nabc\r\n"
	header := func(size int) string {
		return strings.Replace(part, "\r\n\r\n", ";a="+strings.Repeat("a", size)+"\r\n\r\n", 1)
	}
	content := func(size int) string { return strings.Replace(part, "abc", strings.Repeat("a", size), 1) }
	for _, test := range []struct {
		name, body string
		parts      int
		err        string
	}{
		{"contents larger than a header may be", content(1<<20) + content(1<<20) + part, 3, ""},
		{"headers of some KiB", header(10_000) + header(10_000) + content(1<<20) + header(50_000), 4, ""},
		{"a large header", part + header(100_000), 1, "the header of a part of the form is too large"},
		{"many lines before the first part", strings.Repeat("\r\n", 100_000) + part, 0,
			"multipart: NextPart: the header of a part of the form is too large"},
		{"many parts", strings.Repeat(part, 200), 100, "the form has too many parts"},
	} {
		for _, reads := range []bool{true, false} {
			form, parts := spool.NewForm(strings.NewReader(test.body+"--x--\r\n"), "x"), 0
			part, err := form.NextPart()
			for ; err == nil; part, err = form.NextPart() {
				if parts++; reads {
					if _, err := io.Copy(io.Discard, part); err != nil {
						t.Errorf("%s: %v", test.name, err)
					}
				}
			}
			text := err.Error()
			if err == io.EOF {
				text = ""
			}
			if parts != test.parts || text != test.err {
				t.Errorf("%s: %d parts, then %q, want %d and %q", test.name, parts, text, test.parts, test.err)
			}
		}
	}
}
