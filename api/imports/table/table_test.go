package table

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	cryptorand "crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// directory returns a directory of files from pairs of name and content.
func directory(pairs ...string) fstest.MapFS {
	dir := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		dir[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return dir
}

// read returns the cells of all rows of the only file.
func read(t *testing.T, dir fs.FS) ([][]string, error) {
	t.Helper()
	files, err := Files(t.Context(), dir, NewSpace(t.TempDir(), 1<<30))
	if err != nil {
		return nil, err
	}
	if len(files) != 1 || files[0].Problem != "" {
		t.Fatalf("files = %+v", files)
	}
	return readFile(t.Context(), files[0])
}

func readFile(ctx context.Context, f *File) ([][]string, error) {
	rows, err := f.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all [][]string
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, row.Cells)
	}
}

func encoded(t *testing.T, encode func(string) (string, error), text string) string {
	t.Helper()
	out, err := encode(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zipped(t *testing.T, pairs ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		entry, err := w.Create(pairs[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write([]byte(pairs[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAllFormsOfATextHaveTheSameRows(t *testing.T) {
	t.Parallel()
	const text = "name,price,note\nCafé,1.50,\"a, b\r\nc\"\nMüsli,2,5\n"
	want := [][]string{{"name", "price", "note"}, {"Café", "1.50", "a, b\r\nc"}, {"Müsli", "2", "5"}}
	semicolons := "name;price;note\nCafé;1.50;\"a, b\r\nc\"\nMüsli;2;5\n"
	little := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String
	big := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().String
	for _, test := range []struct{ name, file, content string }{
		{"UTF-8", "a.csv", text},
		{"byte order mark", "a.csv", "\uFEFF" + text},
		{"semicolons", "a.csv", semicolons},
		{"Excel's line with the delimiter", "a.csv", "sep=;\r\n" + semicolons},
		{"tabs", "a.tsv", strings.NewReplacer(";", "\t").Replace(semicolons)},
		{"Windows-1252", "a.csv", encoded(t, charmap.Windows1252.NewEncoder().String, text)},
		{"UTF-16, little endian", "a.txt", encoded(t, little, text)},
		{"UTF-16, big endian, without a mark", "a.csv", encoded(t, big, text)},
		{"gzip", "a.csv.gz", gzipped(t, text)},
		{"ZIP", "a.zip", zipped(t, "folder/", "", "folder/a.csv", text, "__MACOSX/a.csv", "x")},
		{"gzip in ZIP", "a.zip", zipped(t, "a.csv.gz", gzipped(t, text))},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := read(t, directory(test.file, test.content))
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("rows, with error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestRowsMayEndWithCarriageReturns(t *testing.T) {
	t.Parallel()
	want := [][]string{{"a", "b"}, {"1", "x\ny"}, {"2", "z"}}
	for _, start := range []string{"", "\uFEFF", "sep=;\r"} {
		got, err := read(t, directory("a.csv", start+"a;b\r1;\"x\ry\"\r2;z\r"))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("rows after %q, with error %v (-want +got):\n%s", start, err, diff)
		}
	}
}

func TestRowsWithMalformedQuotesHaveCells(t *testing.T) {
	t.Parallel()
	space := NewSpace(t.TempDir(), 1<<20)
	files, err := Files(t.Context(), directory("a.csv", "a;b;c\n\n1;5\" Mug;\"x\"\r\n2;\"a\r\nb\";\"5\" \"\"Cup\"\"\"\n3;b;c\n4;\"b;c\n5;b;c\n"), space)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := files[0].Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	want := []Row{
		{Line: 1, Cells: []string{"a", "b", "c"}},
		{Line: 3, Cells: []string{"1", `5" Mug`, "x"}},
		{Line: 4, Cells: []string{"2", "a\r\nb", `5" "Cup"`},
			Problem: "has text after a closing quote, or a quote that is not closed; the row extends to line 5"},
		{Line: 6, Cells: []string{"3", "b", "c"}},
		{Line: 7, Cells: []string{"4", `"b`, "c\n5", "b", "c"},
			Problem: "has text after a closing quote, or a quote that is not closed; the row extends to line 8"},
	}
	for _, want := range want {
		got, err := rows.Next()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("row, with error %v (-want +got):\n%s", err, diff)
		}
	}
}

func TestDamagedUTF8IsNotReadAsWindows1252(t *testing.T) {
	t.Parallel()
	for _, cell := range []string{"Café é\xE9", "x\xFE"} {
		got, err := read(t, directory("a.csv", "a\n"+cell+"\n"))
		if damaged := err == nil && !utf8.ValidString(got[1][0]); damaged != (cell[0] == 'C') {
			t.Errorf("%q = %q, %v", cell, got, err)
		}
	}
	if got, err := read(t, directory("a.csv", "a\nx\xFF\n")); err != nil || utf8.ValidString(got[1][0]) {
		t.Errorf("0xFF alone = %q, %v", got, err)
	}
}

func TestDelimiterIsTheOneThatRowsContainEquallyOften(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		want rune
	}{
		{"sku;preis\nA;12,50\nB;3,50\n", ';'},
		{"Report of March\n\nsku\tname\tprice\nA\tx, y\t1\nB\tz\t2\n", '\t'},
		{"a,b\n\"x;y;z\",1\n\"x;y;z\",2\n", ','},
		{"sku\nA\n", ','},
		{"", ','},
		{"a|b|c", '|'},
	} {
		if got := detectDelimiter(test.text); got != test.want {
			t.Errorf("%q has %q, want %q", test.text, got, test.want)
		}
	}
}

// workbook returns an XLSX file with a hidden sheet before the given one.
func workbook(t *testing.T, name string, rows [][]any) string {
	t.Helper()
	book := excelize.NewFile()
	defer book.Close()
	dates, err := book.NewStyle(&excelize.Style{NumFmt: 22})
	if err != nil {
		t.Fatal(err)
	}
	sheet, err := book.NewSheet(name)
	if err != nil {
		t.Fatal(err)
	}
	book.SetActiveSheet(sheet)
	for i, row := range rows {
		for j, cell := range row {
			at, _ := excelize.CoordinatesToCellName(j+1, i+1)
			if err := book.SetCellValue(name, at, cell); err != nil {
				t.Fatal(err)
			}
			if _, isTime := cell.(time.Time); isTime {
				if err := book.SetCellStyle(name, at, at, dates); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := errors.Join(book.SetCellValue("Sheet1", "A1", "x"), book.SetSheetVisible("Sheet1", false)); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := book.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSheetIsReadWithItsTypes(t *testing.T) {
	t.Parallel()
	content := workbook(t, "Items", [][]any{
		{"sku", "price", "at", "note"},
		{"A", 19.989999999999998, time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC), "a\r\nb _x000D_"},
		{nil, nil, nil, nil},
		{"B", 5012345678900.0, time.Date(2025, 12, 31, 14, 5, 9, 0, time.UTC), true},
		{12.0, 1e-7, nil, "  x & <y>  "},
	})
	for _, dir := range []fs.FS{
		directory("a.xlsx", content), directory("b.zip", zipped(t, "b.xlsx", content)),
		directory("c.xlsx.gz", gzipped(t, content)),
	} {
		got, err := read(t, dir)
		want := [][]string{
			{"sku", "price", "at", "note"}, {"A", "19.99", "2025-12-31", "a\r\nb \r"},
			{"B", "5012345678900", "2025-12-31 14:05:09", "TRUE"}, {"12", "0.0000001", "", "  x & <y>  "},
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("rows, with error %v (-want +got):\n%s", err, diff)
		}
	}
}

// encoding/csv takes forty bytes of memory for each cell.
func TestARowOfManyCellsIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		strings.Repeat(",", 1<<20):                           maxDelimiters,
		strings.Repeat(strings.Repeat(",", 1000)+"\n", 1000): 1_001_000,
		`"` + strings.Repeat(",", 1<<20) + `"`:               1<<20 + 2,
	} {
		c := &carriageReturns{r: strings.NewReader(text), delimiter: ','}
		n, err := io.Copy(io.Discard, c)
		if n != want || (err != nil) != (n == maxDelimiters) {
			t.Errorf("%.10q: read %d bytes, %v, want %d", text, n, err, want)
		}
		if again, _ := c.Read(make([]byte, 10)); again != 0 {
			t.Errorf("%.10q: read another %d bytes", text, again)
		}
	}
}

func TestNumbersOfASheetAreReadAsShown(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	defer book.Close()
	for i, format := range []string{"0%", "0.0 %", "0.00", `0.00" % off"`, "00000", "0", "00000"} {
		at, _ := excelize.CoordinatesToCellName(i+1, 1)
		value := 0.07
		if i > 3 {
			value = []float64{123, 123, 1.5}[i-4]
		}
		style, err := book.NewStyle(&excelize.Style{CustomNumFmt: &format})
		err = errors.Join(err, book.SetCellValue("Sheet1", at, value), book.SetCellStyle("Sheet1", at, at, style))
		if err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := book.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := read(t, directory("a.xlsx", b.String()))
	if diff := cmp.Diff([][]string{{"7%", "7%", "0.07", "0.07", "00123", "123", "1.5"}}, got); diff != "" || err != nil {
		t.Errorf("rows, with error %v (-want +got):\n%s", err, diff)
	}
}

// Programs that write workbooks without calculating them leave out the results.
func TestFormulasWithoutAResultAreShown(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	defer book.Close()
	err := errors.Join(book.SetCellValue("Sheet1", "A1", 2), book.SetCellFormula("Sheet1", "B1", "A1*3"),
		book.SetCellValue("Sheet1", "C1", "tea"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := book.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := read(t, directory("a.xlsx", b.String()))
	if diff := cmp.Diff([][]string{{"2", "=A1*3", "tea"}}, got); diff != "" || err != nil {
		t.Errorf("rows, with error %v (-want +got):\n%s", err, diff)
	}
}

// A time.Duration has at most 292 years.
func TestDatesOfASheetHaveTheirYear(t *testing.T) {
	t.Parallel()
	s := sheetReader{book: &book{}}
	for days, want := range map[float64]string{
		46000: "2025-12-09", 46000.25: "2025-12-09 06:00:00", 0.5: "12:00:00", 109_575: "2200-01-01", 259_500: "2610-06-26",
		-1: "-1", math.NaN(): "NaN",
	} {
		if got := s.date(days); got != want {
			t.Errorf("date(%v) = %s, want %s", days, got, want)
		}
	}
}

func TestFilesThatAreNoTablesHaveAProblem(t *testing.T) {
	t.Parallel()
	files, err := Files(t.Context(), directory("a.xls", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "b.pdf", "%PDF-1.7", "c.xlsb",
		zipped(t, "xl/workbook.bin", ""), "d.zip", zipped(t, "e.zip", zipped(t, "f.csv", "a"))), NewSpace(t.TempDir(), 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Name+" "+f.Problem)
	}
	want := []string{
		"a.xls is an old or encrypted Excel file: save it without a password as .xlsx or CSV",
		"b.pdf is not a CSV or XLSX file", "c.xlsb is a workbook in another format: save it as .xlsx or CSV",
		"e.zip is a ZIP in a ZIP",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestBombsAreRefused(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat(strings.Repeat("a,b\n", 1<<20), 5) // 20 MiB
	rows := `<worksheet><sheetData><row r="1">` + strings.Repeat(`<c><v>1</v></c>`, 1<<20) + `</row></sheetData></worksheet>`
	const books = `<workbook><sheets><sheet name="S" id="r1"/></sheets></workbook>`
	const rels = `<Relationships><Relationship Id="r1" Target="s.xml"/></Relationships>`
	sheet := func(xml string) string {
		return zipped(t, "xl/workbook.xml", books, "xl/_rels/workbook.xml.rels", rels, "xl/s.xml", xml)
	}
	var many []string
	for i := range maxEntries + 1 {
		many = append(many, strings.Repeat("x", i)+".csv", "")
	}
	attributes := strings.Repeat(` a=""`, 3<<20/5)
	styles := zipped(t, "xl/workbook.xml", books, "xl/_rels/workbook.xml.rels", rels, "xl/s.xml", "<worksheet/>",
		"xl/styles.xml", "<styleSheet"+attributes+"/>")
	texts := zipped(t, "xl/workbook.xml", books, "xl/_rels/workbook.xml.rels", rels, "xl/s.xml", "<worksheet/>",
		"xl/sharedStrings.xml", "<sst><si"+attributes+"/></sst>")
	for _, test := range []struct{ name, file, content, want string }{
		{"gzip", "a.csv.gz", gzipped(t, zeros), "unpacks to more than"},
		{"ZIP", "a.zip", zipped(t, "a.csv", zeros), "unpacks to more than"},
		{"many entries", "a.zip", zipped(t, many...), "more than 2000 files"},
		{"a row of many cells", "a.csv", strings.Repeat(",", 2000) + "\n", "more than 1,000 columns"},
		{"a row of a sheet", "a.xlsx", sheet(rows), "more than 1,000 columns"},
		{"a text of a sheet", "a.xlsx", sheet(`<row><c t="inlineStr"><is><t>` + strings.Repeat("x", 9<<20)),
			"longer than 2 MiB"},
		{"elements of a sheet", "a.xlsx", sheet(`<row><c>` + strings.Repeat(`<x/>`, 2<<20)), "longer than 2 MiB"},
		{"attributes of a row", "a.xlsx", sheet(`<row` + attributes + `/>`), "longer than 2 MiB"},
		{"attributes of styles", "a.xlsx", styles, "longer than 2 MiB"},
		{"attributes of texts", "a.xlsx", texts, "longer than 2 MiB"},
		{"many sheets", "a.xlsx", zipped(t, "xl/workbook.xml", "<workbook>"+strings.Repeat("<sheet/>", 380_000)+"</workbook>",
			"xl/_rels/workbook.xml.rels", rels), "more than 1000 sheets"},
		{"a sheet", "a.xlsx", sheet(`<row></row>` + strings.Repeat(`<row></row>`, 3<<19)), "unpacks to more than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := read(t, directory(test.file, test.content))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

// countedFile counts the bytes that are read of a file.
type countedFile struct {
	fs.File
	read *int
}

func (f countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	*f.read += n
	return n, err
}

func (f countedFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.File.(io.ReaderAt).ReadAt(p, at)
	*f.read += n
	return n, err
}

type countedFS struct {
	fstest.MapFS
	read *int
}

func (c countedFS) Open(name string) (fs.File, error) {
	f, err := c.MapFS.Open(name)
	return countedFile{f, c.read}, err
}

// What the sheets of a workbook share is as large as a tenant wants, and so is the workbook if it is in a ZIP.
func TestWhatSheetsShareIsReadOnceForAllOfThem(t *testing.T) {
	t.Parallel()
	const sheets = 50
	random := make([]byte, 1<<20)
	_, _ = cryptorand.Read(random)
	parts := []string{"xl/sharedStrings.xml", "<sst><si><t>" + hex.EncodeToString(random) + "</t></si><si><t>x</t></si></sst>"}
	var list, rels strings.Builder
	for i := range sheets {
		fmt.Fprintf(&list, `<sheet name="S%d" id="r%d"/>`, i, i)
		fmt.Fprintf(&rels, `<Relationship Id="r%d" Target="s%d.xml"/>`, i, i)
		parts = append(parts, fmt.Sprintf("xl/s%d.xml", i), `<row><c t="s"><v>1</v></c></row>`)
	}
	parts = append(parts, "xl/workbook.xml", "<workbook>"+list.String()+"</workbook>",
		"xl/_rels/workbook.xml.rels", "<Relationships>"+rels.String()+"</Relationships>")
	book := zipped(t, parts...)
	for name, content := range map[string]string{
		"a.xlsx": book, "a.zip": zipped(t, "a.xlsx", book), "a.xlsx.gz": gzipped(t, book),
	} {
		read, space := 0, NewSpace(t.TempDir(), 1<<30)
		files, err := Files(t.Context(), countedFS{directory(name, content), &read}, space)
		if err != nil || len(files) != 1 || len(files[0].Sheets()) != sheets {
			t.Fatalf("Files(%s) = %v, %v, want a workbook", name, files, err)
		}
		release, err := files[0].Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, sheet := range files[0].Sheets() {
			of := *files[0]
			of.Sheet = sheet
			if rows, err := readFile(t.Context(), &of); err != nil || len(rows) != 1 || rows[0][0] != "x" {
				t.Fatalf("%s, %s = %q, %v", name, sheet, rows, err)
			}
		}
		if most := 3 * len(content); read > most {
			t.Errorf("%s: %d bytes were read of %d, want at most %d", name, read, len(content), most)
		}
		if err := release(); err != nil || space.used.Load() != 0 {
			t.Errorf("%s: release = %v with %d bytes of temporary files left", name, err, space.used.Load())
		}
	}
}

func FuzzRows(f *testing.F) {
	for _, seed := range []string{
		"sku,name,price\nA,Axe,1\n", "\uFEFFsku\r\nA\r\n", "sep=;\na;b\n", "sku\n\"A\nB\n", "\xff\xfes\x00", "a;b\n\"x\r\";\n",
	} {
		f.Add("a.csv", []byte(seed))
	}
	f.Add("a.xlsx", []byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		files, err := Files(t.Context(), fstest.MapFS{"x" + strings.ToValidUTF8(strings.ReplaceAll(name, "/", ""), ""): {Data: content}},
			NewSpace(t.TempDir(), 1<<30))
		if err != nil {
			return
		}
		for _, file := range files {
			if file.Problem != "" {
				continue
			}
			rows, err := file.Open(t.Context())
			if err != nil {
				continue
			}
			defer rows.Close()
			for last := 0; ; {
				row, err := rows.Next()
				if err != nil {
					break
				}
				if row.Line <= last || len(row.Cells) > maxColumns {
					t.Fatalf("row at line %d of %d cells after line %d", row.Line, len(row.Cells), last)
				}
				last = row.Line
			}
		}
	})
}
