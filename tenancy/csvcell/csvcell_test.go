package csvcell_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/tenancy/csvcell"
)

func TestCells(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "plain": "plain", "a=b": "a=b", "1-2": "1-2", "it's": "it's", "'quoted'": "'quoted'", "'": "'",
		// guarded
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@a": "'@a", "\ta": "'\ta",
		"\ra": "\"'\ra\"", "'=1": "''=1", "''-": "'''-",
		// quoted
		"a,b": `"a,b"`, `12"`: `"12"""`, "=a,b": `"'=a,b"`, "a\r\nb": "\"a\r\nb\"",
		" a": `" a"`, "a\u00a0": "\"a\u00a0\"", "\na": "\"\na\"",
	} {
		got := string(csvcell.Append(nil, csvcell.Guard(text)))
		if got != want {
			t.Errorf("cell of %q = %q, want %q", text, got, want)
		}
	}
	if got := string(csvcell.Append([]byte("a,"), "-5.00")); got != "a,-5.00" {
		t.Errorf("Append = %q", got)
	}
}

func TestAnEncodedTextIsReadBack(t *testing.T) {
	t.Parallel()
	texts := rapid.StringOfN(rapid.SampledFrom([]rune("ab '\",=+-@\t\n界")), 0, 12, -1)
	rapid.Check(t, func(r *rapid.T) {
		text := texts.Draw(r, "text")
		row := append(csvcell.Append([]byte("x,"), csvcell.Guard(text)), "\r\n"...)
		records, err := csv.NewReader(strings.NewReader(string(row))).ReadAll()
		if err != nil || len(records) != 1 || len(records[0]) != 2 {
			r.Fatalf("reading %q returns %q, %v", row, records, err)
		}
		cell := records[0][1]
		if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@\t\r") {
			r.Fatalf("%q starts like a formula", cell)
		}
		if got := csvcell.Unguard(cell); got != text {
			r.Fatalf("Unguard(%q) = %q, want %q", cell, got, text)
		}
	})
}
