package table_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/storeroom/storeroom/api/imports/table"
)

func TestEntriesOfAnArchiveDoNotShareBytes(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	entry, err := w.CreateHeader(&zip.FileHeader{Name: "a", Method: zip.Store})
	if err == nil {
		_, err = entry.Write(make([]byte, 10<<10))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	all := file.Bytes()
	end := bytes.LastIndex(all, []byte("PK\x05\x06"))
	directory := bytes.LastIndex(all, []byte("PK\x01\x02"))
	first := all[directory:end]
	second := bytes.Clone(first)
	second[46] = 'b'
	last := bytes.Clone(all[end:])
	binary.LittleEndian.PutUint16(last[8:], 2)
	binary.LittleEndian.PutUint16(last[10:], 2)
	binary.LittleEndian.PutUint32(last[12:], uint32(2*len(first)))
	for name, test := range map[string]struct{ file, want string }{
		"one":  {string(all), ""},
		"both": {string(all[:end]) + string(second) + string(last), "its entries have more bytes than the file"},
	} {
		dir := fstest.MapFS{"a.zip": {Data: []byte(test.file)}}
		a, _, err := table.FindArchive(dir, table.NewSpace("", 1<<20), "a")
		if err != nil || a == nil {
			t.Fatalf("%s: the archive is %v, %v", name, a, err)
		}
		defer a.Close()
		if err = a.Check(); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Check returned %v, want %q", name, err, test.want)
		}
	}
}
