package table

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// readFeed returns the rows of a feed, or why it is not one.
func readFeed(t *testing.T, content string) (rows [][]string, problem string) {
	t.Helper()
	dir := fstest.MapFS{"feed.xml": {Data: []byte(content)}}
	files, err := Files(dir, NewSpace(t.TempDir(), 1<<20))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if files[0].Problem != "" {
		return nil, files[0].Problem
	}
	open, err := files[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for {
		row, err := open.Next()
		if errors.Is(err, io.EOF) {
			return rows, ""
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row.Cells)
	}
}

func TestAFeedHasARowForEachItem(t *testing.T) {
	t.Parallel()
	const item = `<item><id>1</id><title>Mug &amp; lid</title></item>`
	for name, c := range map[string]struct {
		feed string
		want [][]string
	}{
		"RSS": {`<rss><channel><title>Shop</title>` + item + `</channel></rss>`, [][]string{{"id", "title"}, {"1", "Mug & lid"}}},
		"Atom, with other elements in each entry": {
			`<feed xmlns:g="x"><entry><g:id>1</g:id></entry><entry><g:size>S</g:size><g:id>2</g:id></entry></feed>`,
			[][]string{{"id", "size"}, {"1", ""}, {"2", "S"}},
		},
		"an element several times": {
			`<rss><item><id>1</id><g:id>1</g:id><image>a</image><image> b </image><image/></item></rss>`,
			[][]string{{"id", "image"}, {"1", "a\nb"}},
		},
		"elements in an element": {
			`<rss><item><shipping><country>US</country> <price>4</price></shipping></item></rss>`,
			[][]string{{"shipping"}, {""}},
		},
	} {
		rows, problem := readFeed(t, c.feed)
		if diff := cmp.Diff(c.want, rows); diff != "" || problem != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, problem, diff)
		}
	}
}

func TestAFeedThatCannotBeReadHasAProblem(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range maxColumns + 1 {
		fmt.Fprintf(&many, "<e%d/>", i)
	}
	for name, c := range map[string]struct{ feed, want string }{
		"no items":              {`<html><body/></html>`, "no items"},
		"no XML":                {`id,title`, "no items"},
		"an item without end":   {`<rss><item><id>1</id>`, "unexpected EOF"},
		"another character set": {`<?xml version="1.0" encoding="ISO-8859-1"?><rss><item/></rss>`, "ISO-8859-1"},
		"a long value":          {`<rss><item><id>` + strings.Repeat("x", 2*maxElementXML) + `</id></item></rss>`, "longer than 2 MiB"},
		"a long attribute":      {`<rss><item><id a="` + strings.Repeat("x", maxRowXML) + `"/></item></rss>`, "longer than 2 MiB"},
		"many elements":         {`<rss><item>` + many.String() + `</item></rss>`, "1,000 columns"},
	} {
		if rows, problem := readFeed(t, c.feed); !strings.Contains(problem, c.want) {
			t.Errorf("%s: the problem is %q, want %s; the rows are %.200q", name, problem, c.want, rows)
		}
	}
}

// What an item may have is bounded before it is compared with what came before.
func TestAnItemWithManyElementsIsRefused(t *testing.T) {
	t.Parallel()
	var names, values strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&names, "<n%d>x</n%[1]d>", i)
		fmt.Fprintf(&values, "<link>%d</link>", i)
	}
	for content, want := range map[string]error{names.String(): errTooManyColumns, values.String(): errRowTooLong} {
		began := time.Now()
		_, err := newFeed(strings.NewReader("<rss><channel><item>" + content + "</item></channel></rss>")).next()
		if !errors.Is(err, want) || time.Since(began) > 30*time.Second {
			t.Errorf("after %s: %v, want %v", time.Since(began), err, want)
		}
	}
}
