package tenancy_test

import (
	"strings"
	"testing"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

func TestNameAcceptsVisibleText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain":                          "Till in the shop",
		"accents, composed and not":      "Caf\u00e9 Cafe\u0301",
		"Persian with its non-joiner":    "نان\u200cوایی",
		"Hindi with a joiner":            "क\u094d\u200dष",
		"a pictogram":                    "Caf\u00e9 ☕\ufe0f",
		"a family of pictograms":         "👩\u200d👧\u200d👦 shop",
		"a skin tone and a profession":   "👩🏽\u200d🍳",
		"a flag in several parts":        "🏳\ufe0f\u200d🌈",
		"a keycap":                       "Till 1\ufe0f\u20e3",
		"an arrow as a pictogram":        "Web ↔\ufe0f till",
		"an Arabic name, right to left":  "متجر الزهور",
		"wide spaces, and 100 of others": "東京\u3000" + strings.Repeat("木", 97),
	} {
		if got, fault := tenancy.Name(" "+text+"\n", 100); got != text || fault != "" {
			t.Errorf("%s: Name(%+q) = %+q, %q, want it as it is", name, text, got, fault)
		}
	}
}

func TestNameRefusesInvisibleText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                     "must not be empty",
		" \t ":                 "must not be empty",
		"a\nb":                 "must not contain control characters",
		"a\xff":                "must be valid UTF-8",
		strings.Repeat("ä", 9): "must have at most 8 characters",
		"\u200b":               "must not contain the invisible character U+200B",
		"Ti\u200bll":           "must not contain the invisible character U+200B",
		"Ti\u200dll":           "must not contain the invisible character U+200D",
		"Till\u200c":           "must not contain the invisible character U+200C",
		"\u200dن":              "must not contain the invisible character U+200D",
		"☕\u200d":              "must not contain the invisible character U+200D",
		"☕\u200dx":             "must not contain the invisible character U+200D",
		"llit\u202e":           "must not contain the invisible character U+202E",
		"\u2066a\u2069":        "must not contain the invisible character U+2066",
		"a\u061c":              "must not contain the invisible character U+061C",
		"\ufeffTill":           "must not contain the invisible character U+FEFF",
		"Ti\u00adll":           "must not contain the invisible character U+00AD",
		"a\u2028b":             "must not contain the invisible character U+2028",
		"Ti\ufe0fll":           "must not contain the invisible character U+FE0F",
		"a\ufe00":              "must not contain the invisible character U+FE00",
		"a\U000e0041":          "must not contain the invisible character U+E0041",
		"a\u3164":              "must not contain the invisible character U+3164",
		"a\u2800":              "must not contain the invisible character U+2800",
		"a\ue000":              "must not contain the invisible character U+E000",
	} {
		if got, fault := tenancy.Name(text, 8); got != "" && fault == "" || fault != want {
			t.Errorf("Name(%+q) = %+q, %q, want %q", text, got, fault, want)
		}
	}
	for _, text := range []string{"Ti\u200bll", "a\u202eb"} {
		if got, fault := tenancy.Label(text, 8); got != text || fault != "" {
			t.Errorf("Label(%+q) = %+q, %q: labels can have any characters", text, got, fault)
		}
	}
	if fault := people.CheckEmail("an\u200bn@shop.example"); fault != "must not contain the invisible character U+200B" {
		t.Errorf("CheckEmail of an invisible character = %q", fault)
	}
}
