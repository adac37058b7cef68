package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/tenancy"
)

func TestURLsOfImages(t *testing.T) {
	t.Parallel()
	long := "https://example.com/" + strings.Repeat("a", maxImageURL-20)
	for given, want := range map[string]string{
		"https://example.com/a.jpg?b=1#c": "https://example.com/a.jpg?b=1#c",
		"HTTP://example.com":              "http://example.com",
		"https://example.com/ä b":         "https://example.com/%C3%A4%20b",
		"https://example.com/?b c=d":      "https://example.com/?b%20c=d",
		"https://[2001:db8::1]:8443/a":    "https://[2001:db8::1]:8443/a",
		long:                              long,
		long + "a":                        "",
		long[:len(long)-1] + "ä":          "",
		"":                                "",
		"//example.com/a":                 "",
		"/a":                              "",
		"example.com/a":                   "",
		"https:///a":                      "",
		"https://:443/a":                  "",
		"https://ann:secret@example.com/": "",
		"https://ann@example.com/":        "",
		"ftp://example.com/a":             "",
		"file:///etc/passwd":              "",
		"javascript:alert(1)":             "",
		"data:image/png;base64,AA==":      "",
		"https://exa mple.com/":           "",
		"https://example.com/\n":          "",
		"https://example.com/%zz":         "",
	} {
		got, problem := CheckImageURL(given)
		if (problem == "") != (want != "") || problem == "" && got != want {
			t.Errorf("%q is stored as %q (%q), want %q", given, got, problem, want)
		}
	}
}

func TestSetImageURLs(t *testing.T) {
	t.Parallel()
	image := func(id int64, name string, position int32) Image {
		return Image{ID: id, URL: "https://example.com/" + name, Position: position}
	}
	file := func(position int32) Image { return Image{ID: 3, File: "FILE.jpg", Position: position} }
	stored := []Image{image(1, "a", 1), image(2, "b", 2)}
	many := make([]string, MaxImages+1)
	for i := range many {
		many[i] = fmt.Sprint("https://example.com/", i)
	}
	for _, test := range []struct {
		name    string
		urls    []string
		want    []Image
		problem string
		invalid tenancy.InvalidError
	}{
		{"new, moved, removed", []string{"https://example.com/c", "https://example.com/a"},
			[]Image{image(0, "c", 1), image(1, "a", 2)}, "", tenancy.InvalidError{}},
		{"twice", []string{"https://example.com/b", "https://example.com/b"}, []Image{image(2, "b", 1)}, "",
			tenancy.InvalidError{}},
		{"stored twice", []string{"https://example.com/a", "https://example.com/b", "https://example.com/a"},
			[]Image{image(1, "a", 1), image(2, "b", 2), image(4, "a", 3)}, "", tenancy.InvalidError{}},
		{"not a URL", []string{"https://example.com/b", "b"}, []Image{image(2, "b", 1)}, "",
			tenancy.InvalidError{"images[1]": {"must be an http or https URL without a user name"}}},
		{"too many", many, nil, tooManyImages, tenancy.InvalidError{}},
		{"beside a file, unchanged", []string{"https://example.com/a", "https://example.com/b"},
			[]Image{image(1, "a", 1), file(2), image(2, "b", 3)}, "", tenancy.InvalidError{}},
		{"beside a file, changed", []string{"https://example.com/b", "https://example.com/a"},
			[]Image{file(1), image(2, "b", 2), image(1, "a", 3)}, "", tenancy.InvalidError{}},
		{"too many with a file", many[1:], nil, tooManyImages, tenancy.InvalidError{}},
	} {
		invalid := tenancy.InvalidError{}
		stored := slices.Clone(stored)
		if strings.Contains(test.name, "a file") {
			stored = number(slices.Insert(stored, 1, file(0)))
		}
		if test.name == "stored twice" {
			stored = append(stored, image(4, "a", 3))
		}
		got, problem := setImageURLs(stored, test.urls, invalid)
		if diff := cmp.Diff(test.want, got); diff != "" || problem != test.problem || !cmp.Equal(invalid, test.invalid) {
			t.Errorf("%s: %q, %v\n%s", test.name, problem, invalid, diff)
		}
	}
}
