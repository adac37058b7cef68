package pages

import (
	"net/http/httptest"
	"testing"
)

// The author of a stored text may have another language than its readers.
func TestStoredTextsAreInTheLanguageOfTheReader(t *testing.T) {
	t.Parallel()
	f := visitorFormat(httptest.NewRequest("GET", "/?language=de", nil))
	for text, want := range map[string]string{
		"Stock count":                      "Inventur",
		"Moved to Cellar: For the weekend": "Umgelagert nach Cellar: For the weekend",
		"Price +1,234.50; Status: Active; Tags added: 1,50.00 (1 product)": "Preis +1.234,50; Status: Aktiv; " +
			"Tags hinzugefügt: 1,50.00 (1 Produkt)",
		"Price −5.00 %; Prices end in .99 (1,200 products)": "Preis −5,00 %; Preise enden auf ,99 (1.200 Produkte)",
		"Delivered; not Moved to Cellar (2 products)":       "Delivered; not Moved to Cellar (2 products)",
		"": "",
	} {
		if got := f.Stored(text); got != want {
			t.Errorf("Stored(%q) = %q, want %q", text, got, want)
		}
		english := visitorFormat(httptest.NewRequest("GET", "/?language=en", nil))
		if got := english.Stored(text); got != text {
			t.Errorf("in English Stored(%q) = %q", text, got)
		}
	}
}
