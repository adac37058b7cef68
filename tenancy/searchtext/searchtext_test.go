package searchtext_test

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/tenancy/searchtext"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text  string
		words string
		want  bool
	}{
		{"Café Noir", "cafe", true},
		{"Cafe\u0301 Noir", "café", true},
		{"ΧΥΜΟΣ πορτοκάλι", "χυμος", true},
		{"Χυμος", "ΧΥΜΟΣ", true},
		{"Straße", "STRASSE", true},
		{"Ёлка", "елка", true},
		{"שָׁלוֹם", "שלום", true},
		{"مُحَمَّد", "محمد", true},
		{"Smørrebrød", "smorrebrod", false},
		{"Smørrebrød", "SMØRREBRØD", true},
		{"Złoty", "zloty", false},
		{"ırmak", "irmak", false},
		{"İzmir", "izmir", true},
		{"はがき", "はかき", false},
		{"ｶﾞﾗｽ", "ガラス", true},
		{"हिन्दी", "हन्द", false},
		{"红色雨伞", "雨伞", true},
		{"红色雨伞", "色雨", true},
		{"红色雨伞", "伞", true},
		{"赤い傘", "傘", true},
		{"빨간우산", "우산", true},
		{"雨 伞", "雨伞", false},
		{"Size:XL", "XL", true},
		{"Bolt(M8)", "m8", true},
		{"Bolt M80", "m8", true},
		{"ATM8", "m8", false},
		{"Boxes", "xes", true},
		{"Boxes", "es", false},
		{"a.b", "a.b", true},
		{"a. b", "a.b", false},
		{"Salt & Pepper", "salt & pepper", true},
		{"Nr #1", "#1", true},
		{"#1 hit", "#1", true},
		{"Nr#1", "#1", false},
		{"50%", "%", false},
		{"100% wool", "00% w", true},
		{"100 wool", "0%", false},
		{"a_b", "a_b", true},
		{"axb", "a_b", false},
		{`back\slash`, `k\s`, true},
		{"backslash", `k\s`, false},
		{"Tea  towel", "towel tea", true},
		{"Tea towel", "teatowel", false},
		{"Tea towel", "a towel", false}, // a is no start
		{"ﬁne", "fi", true},
		{"Ⅷ", "viii", true},
		{"१२३", "२३", false},
		{"१२३", "१२", true},
		{"x", "", true},
	} {
		if got := matches(test.text, test.words); got != test.want {
			t.Errorf("%q finds %q: %v, want %v (%q like %q)", test.words, test.text, got, test.want,
				searchtext.Text(test.text), searchtext.Patterns(test.words))
		}
		if got := searchtext.Matcher(test.words)(test.text); got != test.want {
			t.Errorf("the matcher: %q finds %q: %v, want %v", test.words, test.text, got, test.want)
		}
		if got := naive(test.text, test.words); got != test.want {
			t.Errorf("the naive matcher: %q finds %q: %v, want %v", test.words, test.text, got, test.want)
		}
	}
}

// matches compares as PostgreSQL does.
func matches(text, words string) bool {
	for _, pattern := range searchtext.Patterns(words) {
		if !like(pattern).MatchString(searchtext.Text(text)) {
			return false
		}
	}
	return true
}

// like returns the regular expression of a LIKE pattern.
func like(pattern string) *regexp.Regexp {
	var expression strings.Builder
	expression.WriteString(`(?s)\A`)
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			expression.WriteString(regexp.QuoteMeta(string(r)))
			escaped = false
		case r == '\\':
			escaped = true
		case r == '%':
			expression.WriteString(`.*`)
		case r == '_':
			expression.WriteString(`.`)
		default:
			expression.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return regexp.MustCompile(expression.String() + `\z`)
}

// naive compares each word at each position of the text.
func naive(text, words string) bool {
	in := []rune(" " + strings.TrimLeft(collapse(searchtext.Normalise(text)), " "))
	for _, word := range strings.Fields(words) {
		found, w := false, []rune(collapse(searchtext.Normalise(word)))
		for at := 0; at+len(w) <= len(in); at++ {
			if string(in[at:at+len(w)]) != string(w) {
				continue
			}
			if len(w) >= 3 || w[0] == ' ' || isStart(in, at) {
				found = true
			}
		}
		if !found {
			return false
		}
	}
	return true
}

var (
	space = regexp.MustCompile(`[\s\x{85}\p{Z}]+`)
	word  = regexp.MustCompile(`\A[\p{L}\p{Nd}]\z`)
	whole = regexp.MustCompile(`\A[\p{Hiragana}\p{Katakana}\p{Hangul}]\z`)
)

func collapse(text string) string { return space.ReplaceAllString(text, " ") }

// isStart reports whether a word starts at a position after the first. A sign is a start after white space.
func isStart(text []rune, at int) bool {
	if isLetterOrDigit(text[at]) {
		return isWhole(text[at]) || !isLetterOrDigit(text[at-1])
	}
	return isWhole(text[at]) || text[at-1] == ' '
}

func isLetterOrDigit(r rune) bool { return word.MatchString(string(r)) }

func isWhole(r rune) bool {
	return unicode.Is(unicode.Ideographic, r) || whole.MatchString(string(r)) && isLetterOrDigit(r)
}

// letters are those of each rule.
var letters = []string{
	"a", "B", "é", "e", "\u0301", "\u0308", "Σ", "σ", "ς", "ß", "SS", "İ", "ı", "й", "и", "ё", "ש", "ָ", "م", "َ", "ب",
	"雨", "伞", "〇", "か", "が", "\u3099", "カ", "ｶ", "ﾞ", "ー", "우", "산", "ᄋ", "ก", "ิ", "ह", "ि", "1", "२", "Ⅷ", "ﬁ",
	" ", "  ", "\u00a0", "\u3000", "-", ".", "%", "_", `\`, "#", "&", "´", "¨", "ø", "ł", "ŉ", "ǰ", "\u0345", "\ufe0f", "😀",
}

func texts(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(letters), 1, 12).Draw(t, label), "")
}

func TestPatternsEqualTheNaiveMatcher(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := texts(t, "text")
		words := texts(t, "words")
		if rapid.Bool().Draw(t, "part of the text") {
			runes := []rune(text)
			from := rapid.IntRange(0, len(runes)-1).Draw(t, "from")
			words = string(runes[from:rapid.IntRange(from, len(runes)).Draw(t, "to")])
		}
		check(t, text, words)
	})
}

func FuzzPatterns(f *testing.F) {
	f.Add("Café (M8)", "cafe m8")
	f.Add("红色雨伞", "雨伞")
	f.Add("100%_x", `0%_\`)
	f.Fuzz(func(t *testing.T, text, words string) {
		if utf8.ValidString(text) && utf8.ValidString(words) {
			check(t, text, words)
		}
	})
}

func check(t interface{ Fatalf(string, ...any) }, text, words string) {
	for _, s := range []string{text, words} {
		if once := searchtext.Normalise(s); searchtext.Normalise(once) != once {
			t.Fatalf("Normalise(%q) = %q, and again %q", s, once, searchtext.Normalise(once))
		}
		if marked := searchtext.Text(s); searchtext.Text(searchtext.Normalise(s)) != marked {
			t.Fatalf("Text(%q) = %q, and of the normalised text %q", s, marked, searchtext.Text(searchtext.Normalise(s)))
		}
	}
	if got, want := matches(text, words), naive(text, words); got != want {
		t.Fatalf("%q finds %q: %v, want %v (%q like %q)", words, text, got, want,
			searchtext.Text(text), searchtext.Patterns(words))
	}
}

// The texts are stored, so a change of what Text returns needs a new version.
func TestTheVersionGrowsWithTheRule(t *testing.T) {
	t.Parallel()
	digest := sha256.New()
	for r := rune(0); r < 0x32000; r++ { // of the letters and marks
		digest.Write([]byte(searchtext.Text("a"+string(r)+"b", string(r)+"雨")))
	}
	want := map[int]string{1: "d5140a0031933c5c"}[searchtext.Version]
	if got := hex.EncodeToString(digest.Sum(nil))[:16]; got != want {
		t.Errorf("the rule of version %d has the digest %s, want %s: increase the version, and queue all texts in a migration",
			searchtext.Version, got, want)
	}
}

func BenchmarkText(b *testing.B) {
	for b.Loop() {
		searchtext.Text("Blue Café Lamp with shade, 40 cm", "LAMP-00017-BL", "4006381333931")
	}
}
