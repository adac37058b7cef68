package pages

import (
	"net/url"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/api/pages/words"
)

func TestStoredTextsAreReadInTheOwnLanguage(t *testing.T) {
	t.Parallel()
	german := formatter{Language: words.Languages[1], printer: newPrinter(words.Languages[1].Tag, nil)}
	page := changePage{form: form{url.Values{
		"price_how": {"more_percent"}, "price": {"5,5"}, "rounding": {".99"}, "new_status": {"draft"},
		"add_tags": {"Sommer, No category"}, "reorder_how": {"none"},
	}, fieldErrors{}}}
	_, parts := page.change(user{Format: german})
	stored := strings.Join(parts, "; ") + " (1,234 products)"
	if want := "Price +5.50 %; Prices end in .99; Status: Draft; Tags added: Sommer, No category; No reorder point " +
		"(1,234 products)"; stored != want || german.english().PlanTitle(stored) != want {
		t.Errorf("the title is stored as %q, want %q", stored, want)
	}
	for text, want := range map[string]string{
		stored: "Preis +5,50 %; Preise enden auf ,99; Status: Entwurf; Schlagwörter hinzugefügt: Sommer, No category; " +
			"Kein Meldebestand (1.234 Produkte)",
		"Price " + minus + "1,000.00; Reorder at 1,000 (1 product)": "Preis " + minus + "1.000,00; Meldebestand 1.000 (1 Produkt)",
		"Summer sale": "Summer sale",
	} {
		if got := german.PlanTitle(text); got != want {
			t.Errorf("PlanTitle(%q) = %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"Stock count": german.T("Stock count"), "Moved to Cellar: For the weekend": "Umgelagert nach Cellar: For the weekend",
		"Moved from Cellar": "Umgelagert von Cellar", "Broken": "Broken",
	} {
		if got := german.Note(text); got != want {
			t.Errorf("Note(%q) = %q, want %q", text, got, want)
		}
	}
}
