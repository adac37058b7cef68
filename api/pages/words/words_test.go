package words_test

import (
	"slices"
	"testing"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/storeroom/storeroom/api/pages/words"
)

func TestALanguageIsChosenAmongThoseOfTheBrowser(t *testing.T) {
	t.Parallel()
	for accepted, want := range map[string]string{
		"": "en", "de-AT,de;q=0.9,en;q=0.8": "de", "it,fr;q=0.8,en;q=0.5": "fr", "es-MX": "es", "ja": "en", "en-GB": "en",
		"pt-BR,pt;q=0.9": "en", "gsw,de;q=0.8": "de", "nl": "en",
	} {
		tags, _, err := language.ParseAcceptLanguage(accepted)
		if err != nil {
			t.Fatal(err)
		}
		if got := words.Match(tags); got.Code != want {
			t.Errorf("%q = %s, want %s", accepted, got.Code, want)
		}
	}
}

func TestANumberChoosesTheForm(t *testing.T) {
	t.Parallel()
	for tag, forms := range map[string][3]string{
		"en": {"0 orders", "1 order", "1,234 orders"}, "de-DE": {"0 Bestellungen", "1 Bestellung", "1.234 Bestellungen"},
		"fr": {"0 commande", "1 commande", "1\u00a0234 commandes"}, "es": {"0 pedidos", "1 pedido", "1.234 pedidos"},
	} {
		printer := message.NewPrinter(language.MustParse(tag), message.Catalog(words.Catalog()))
		for i, n := range []int64{0, 1, 1234} {
			if got := printer.Sprintf("%d orders", n); got != forms[i] {
				t.Errorf("%s: %q, want %q", tag, got, forms[i])
			}
		}
	}
}

// A workbook that a person has downloaded in one language can be read by one who uses another.
func TestHeadersOfOwnFilesAreReadInEveryLanguage(t *testing.T) {
	t.Parallel()
	names := []string{"sku", "name", "price", "msrp", "cost", "quantity", "reorder_point", "category_name", "upc"}
	for _, l := range words.Languages {
		printer := message.NewPrinter(l.Tag, message.Catalog(words.Catalog()))
		var header []string
		for _, name := range names {
			text, known := words.Column(name)
			if !known {
				t.Fatalf("%s has no text", name)
			}
			header = append(header, printer.Sprintf(text))
		}
		if got := words.OwnHeader(header); !slices.Equal(got, names) {
			t.Errorf("%s: %q = %q", l.Code, header, got)
		}
	}
	for _, header := range [][]string{{"sku", "name"}, {"Artikelnummer", "Name"}, {"Name"}, {"SKU", "Nombre", "Prix"}} {
		if got := words.OwnHeader(header); !slices.Equal(got, header) {
			t.Errorf("%q = %q, want it unchanged", header, got)
		}
	}
}

func TestEachTextIsOfOneColumnOfOwnFiles(t *testing.T) {
	t.Parallel()
	for _, l := range words.Languages {
		if n, repeated := words.OwnTexts(l.Code); repeated != "" || n == 0 {
			t.Errorf("%s: %d texts, and %q names two columns", l.Code, n, repeated)
		}
	}
}
