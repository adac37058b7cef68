package export

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Every column of every own file is read back as it was written, in lists and in archives.
func TestOwnFilesAreReadBackAsWritten(t *testing.T) {
	t.Parallel()
	readBackList(t, ProductFile)
	readBackList(t, StockFile)
	readBackList(t, CustomerFile)
	readBackList(t, OrderFile)
	readBackList(t, ItemFile)
	readBackList(t, RefundFile)
	readBackArchive(t, CategoryFile)
	readBackArchive(t, SellerFile)
	readBackArchive(t, WarehouseFile)
	readBackArchive(t, ProductFile)
	readBackArchive(t, StockFile)
	readBackArchive(t, ImageFile)
	readBackArchive(t, LedgerFile)
	readBackArchive(t, ChannelFile)
	readBackArchive(t, CustomerFile)
	readBackArchive(t, SoldFile)
	readBackArchive(t, OrderFile)
	readBackArchive(t, ItemFile)
	readBackArchive(t, RefundFile)
}

func readBackList[L, A, R any](t *testing.T, f *OwnFile[L, A, R]) {
	readBack(t, f, false, f.List, f.ofList)
}

func readBackArchive[L, A, R any](t *testing.T, f *OwnFile[L, A, R]) {
	readBack(t, f, true, f.Archive, f.ofArchive)
}

// readBack writes random rows, reads them, and compares the cells of all columns.
func readBack[W, L, A, R any](
	t *testing.T, f *OwnFile[L, A, R], inArchive bool, sheet func(Rows[W]) Sheet, of func(*W) R,
) {
	t.Run(fmt.Sprintf("%s, in an archive: %t", f.Name, inArchive), func(t *testing.T) {
		t.Parallel()
		random := rand.New(rand.NewPCG(1, 2))
		written := make([]W, 200)
		for i := range written {
			fill(random, reflect.ValueOf(&written[i]).Elem(), "")
		}
		var file bytes.Buffer
		if err := CSV(&file, sheet(listRows(written))); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&file).ReadAll()
		if err != nil || len(rows) != len(written)+1 {
			t.Fatalf("read %d rows, %v", len(rows), err)
		}
		for i, row := range rows[1:] {
			want, read, n := of(&written[i]), f.Read(testCells{t, f.Columns(inArchive), rows[0], row}), 0
			for _, c := range f.columns {
				if !slices.Contains(rows[0], c.name) || c.use&unread != 0 {
					continue
				}
				n++
				got, cell := string(appendCSV(nil, c.write(&read))), string(appendCSV(nil, c.write(&want)))
				if got != cell {
					t.Errorf("row %d: %s = %s, want %s", i, c.name, got, cell)
				}
			}
			if n == 0 {
				t.Fatal("no column was compared")
			}
		}
	})
}

// testCells is a row of a CSV file.
type testCells struct {
	t             *testing.T
	columns       []Column
	header, cells []string
}

func (c testCells) Cell(column string) (string, bool) {
	i := slices.Index(c.header, column)
	if i < 0 {
		return "", false
	}
	text := Unguard(c.cells[i])
	for _, described := range c.columns {
		if described.Name == column && described.Kind == Amount && text != "" {
			amount, err := money.Parse(text)
			if err != nil {
				c.t.Errorf("%s = %q: %v", column, text, err)
			}
			text = strconv.FormatInt(int64(amount), 10)
		}
	}
	return text, true
}

func (c testCells) Refuse(column, problem string, args ...any) {
	c.t.Errorf("%s of %q is refused: %s", column, c.cells, fmt.Sprintf(problem, args...))
}

// hostile are texts that a spreadsheet, a CSV file or an import could read as something else.
var hostile = []string{
	"'-17", "-17", "''=1", "'=1", "=1+1", "+1", "@a", "0012", "1e5", "TRUE", "2026-03-04", "1,234", "1.234", "'90s",
	`a "quoted" b`, `"`, "'", "a,b", "a;b", `a\b`, `;\;`, "'a;=b", "_x0041_", "Übergröße 界", "null", "e\u0301", "a:b c",
}

// fill sets all fields of a value to what can be stored. Only a description can have line breaks.
func fill(random *rand.Rand, v reflect.Value, name string) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.UnixMicro(random.Int64N(1_700_000_000_000_000)).UTC()))
		return
	case sales.StoredShares:
		s := sales.StoredShares{}
		for line := range random.Int32N(3) {
			s.Lines, s.Units = append(s.Lines, line+1), append(s.Units, random.Int32N(9))
			s.Amounts = append(s.Amounts, money.Cents(random.Int64N(int64(money.Max))))
			s.Revenues = append(s.Revenues, money.Cents(random.Int64N(int64(money.Max))))
		}
		v.Set(reflect.ValueOf(s))
		return
	case []byte:
		digest := make([]byte, 32)
		for i := range digest {
			digest[i] = byte(random.IntN(256))
		}
		v.SetBytes(digest)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(random, v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		if random.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(random, v.Elem(), name)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), random.IntN(4), 4))
		for i := range v.Len() {
			fill(random, v.Index(i), name)
		}
	case reflect.String:
		text := hostile[random.IntN(len(hostile))]
		if name == "Description" {
			text += "\n " + hostile[random.IntN(len(hostile))] + "\t"
		}
		v.SetString(text)
	case reflect.Int64:
		v.SetInt(random.Int64N(int64(money.Max) + 1))
	case reflect.Int32:
		v.SetInt(int64(random.Int32()))
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	}
}
