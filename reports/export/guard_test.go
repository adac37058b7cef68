package export

import (
	"encoding/csv"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCells(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "plain": "plain", "a=b": "a=b", "1-2": "1-2", "it's": "it's", "'quoted'": "'quoted'", "'": "'",
		"a;b": "a;b", "a; 'b'": "a; 'b'", "3;4-5": "3;4-5", "<p>\n\ta</p>": "\"<p>\n\ta</p>\"", "a＝b": "a＝b", "＃": "＃",
		// guarded
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@a": "'@a", "\ta": "'\ta",
		"\ra": "\"'\ra\"", "'=1": "''=1", "''-": "'''-", "'\t": "\"''\t\"",
		"＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠a": "'＠a", "'＝1": "''＝1",
		" =1": "' =1", "\u00a0=1": "'\u00a0=1", `"=1"`: `"'""=1"""`, "\x01=": "'\x01=",
		// guarded after a separator
		"a;=1": "a;'=1", "a;=1;b;@c": "a;'=1;b;'@c", "a\t+1": "a\t'+1", "a;'-1": "a;''-1", "a;\t－1": "a;\t'－1",
		"a\n=1": "\"a\n'=1\"", "a\r\n=1": "\"a\r\n'=1\"", `a;"=1&";`: `"a;'""=1&"";"`, "a; =1": "a;' =1",
		"=1;=2": "'=1;'=2", "\t=1": "'\t'=1", ";=": ";'=",
		// quoted
		"a,b": `"a,b"`, `12"`: `"12"""`, "=a,b": `"'=a,b"`, "a\r\nb": "\"a\r\nb\"",
		" a": `" a"`, "a\u00a0": "\"a\u00a0\"", "\na": "\"\na\"",
	} {
		guarded := Guard(text)
		if got := string(appendQuoted(nil, guarded)); got != want {
			t.Errorf("cell of %q = %q, want %q", text, got, want)
		}
		if got := Unguard(guarded); got != text {
			t.Errorf("Unguard(%q) = %q, want %q", guarded, got, text)
		}
	}
	if got := string(appendQuoted([]byte("a,"), "-5.00")); got != "a,-5.00" {
		t.Errorf("appendQuoted = %q", got)
	}
}

// Where a spreadsheet splits the row at other characters, no part is a formula.
func TestAnEncodedTextIsReadBack(t *testing.T) {
	t.Parallel()
	texts := rapid.StringOfN(rapid.SampledFrom([]rune("ab '\",;=+-@＝＋－＠\t\r\n\u00a0界")), 0, 12, -1)
	formula := regexp.MustCompile(`^["\s\x{a0}]*[=+\-@＝＋－＠]`)
	rapid.Check(t, func(r *rapid.T) {
		text := texts.Draw(r, "text")
		guarded := Guard(text)
		if got := Unguard(guarded); got != text {
			r.Fatalf("Unguard(%q) = %q, want %q", guarded, got, text)
		}
		row := string(appendQuoted([]byte("x,"), guarded)) + ",y\r\n"
		records, err := csv.NewReader(strings.NewReader(row)).ReadAll()
		read := strings.ReplaceAll(guarded, "\r\n", "\n") // as encoding/csv does
		if err != nil || len(records) != 1 || len(records[0]) != 3 || records[0][1] != read {
			r.Fatalf("reading %q returns %q, %v, want %q", row, records, err, read)
		}
		if strings.ContainsAny(guarded[:min(1, len(guarded))], "\t\r") || formula.MatchString(guarded) {
			r.Fatalf("%q starts like a formula", guarded)
		}
		for _, separators := range []string{";\r\n", "\t\r\n", ";\t\r\n"} {
			split := func(c rune) bool { return strings.ContainsRune(separators, c) }
			for part := range strings.FieldsFuncSeq(row, split) {
				if formula.MatchString(part) {
					r.Fatalf("%q, split at %q, contains the formula %q", row, separators, part)
				}
			}
		}
	})
}
