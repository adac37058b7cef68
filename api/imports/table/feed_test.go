package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	files, err := Files(t.Context(), dir, NewSpace(t.TempDir(), 1<<20))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if files[0].Problem != "" {
		return nil, files[0].Problem
	}
	open, err := files[0].Open(t.Context())
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
		"no items":               {`<html><body/></html>`, "no items"},
		"no XML":                 {`id,title`, "no items"},
		"an item without end":    {`<rss><item><id>1</id>`, "unexpected EOF"},
		"another character set":  {`<?xml version="1.0" encoding="ISO-8859-1"?><rss><item/></rss>`, "ISO-8859-1"},
		"a long value":           {`<rss><item><id>` + strings.Repeat("x", 2*maxElementXML) + `</id></item></rss>`, "longer than 2 MiB"},
		"a long attribute":       {`<rss><item><id a="` + strings.Repeat("x", maxRowXML) + `"/></item></rss>`, "longer than 2 MiB"},
		"many elements":          {`<rss><item>` + many.String() + `</item></rss>`, "1,000 columns"},
		"elements in each other": {strings.Repeat("<a>", maxDepth+1), "more than 100 others"},
		"elements in an item":    {`<rss><item>` + strings.Repeat("<a>", maxDepth), "more than 100 others"},
		"a long text between":    {`<rss><item><id>1</id></item>` + strings.Repeat("<a>x</a>", maxRowXML/4) + `</rss>`, "longer than 2 MiB"},
	} {
		if rows, problem := readFeed(t, c.feed); !strings.Contains(problem, c.want) {
			t.Errorf("%s: the problem is %q, want %s; the rows are %.200q", name, problem, c.want, rows)
		}
	}
}

// endless is a feed without an end.
type endless struct{ fs.File }

func (endless) Read(p []byte) (int, error) {
	const item = "<item><id>1</id></item>"
	return copy(p, strings.Repeat(item, max(1, len(p)/len(item)))), nil
}

type endlessFS struct{ fs.FS }

func (d endlessFS) Open(name string) (fs.File, error) {
	file, err := d.FS.Open(name)
	if _, isDirectory := file.(fs.ReadDirFile); isDirectory {
		return file, err
	}
	return endless{file}, err
}

// Whatever is read of a file before its rows ends with the context.
func TestFilesStopsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"feed.xml", "a.csv"} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		dir := endlessFS{fstest.MapFS{name: {Data: []byte("x")}}}
		if files, err := Files(ctx, dir, NewSpace(t.TempDir(), 1<<20)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Files(%s) = %v, %v", name, files, err)
		}
	}
	book := zipped(t, "xl/workbook.xml", `<workbook><sheet name="S" id="r"/></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r" Target="s.xml"/></Relationships>`,
		"xl/s.xml", `<row/>`, "xl/sharedStrings.xml", `<sst><si><t>x</t></si></sst>`)
	files, err := Files(t.Context(), directory("a.xlsx", book), NewSpace(t.TempDir(), 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := files[0].Hold(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Hold = %v", err)
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
