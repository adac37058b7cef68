package sales

import (
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/storeroom/storeroom/tenancy/money"
)

// goldenDigests are stored digests. Those of version 1 were computed by the code that
// stored them, with Go 1.26. They must never change.
var goldenDigests = []struct {
	name   string
	order  Order
	v1, v2 string
}{
	{
		name: "required fields",
		order: Order{
			Number: "A-1", PlacedAt: placedAt, Channel: "pos",
			Items: []Item{{SKU: "TEA", Quantity: 2, UnitPrice: 9_99}},
		},
		v1: "da00f321bc28b3b775880008d7e8ef781bc0059311da40bb72d3a5a2cd2d1331",
		v2: "eae54d0c85aa429f96fe4d8c007fe535747d60f842191658bdae6d611df309df",
	},
	{
		name: "all fields",
		order: Order{
			Number: "A-2", PlacedAt: placedAt, Channel: "web",
			Customer:      &Customer{ID: "17", Name: new("Ann"), Email: new("ann@example.com")},
			DiscountTotal: new(money.Cents(1_50)), TaxTotal: new(money.Cents(0)),
			Items: []Item{
				{SKU: "TEA", Quantity: 2, UnitPrice: 9_99, UnitCost: new(money.Cents(4_50)), Discount: new(money.Cents(1_00))},
				{SKU: "CUP", Quantity: 1, UnitPrice: 0},
			},
		},
		v1: "ddba983260490cf883b009d5a6e57581e705624694b054ffec154f78d5e6eecd",
		v2: "dda60ff338c4d1042120d7bc2e60a92969fa72f1070ef0ca8a1b7314e96f2af3",
	},
	{
		name: "letters, marks and symbols outside ASCII, quotes and backslashes",
		order: Order{
			Number: `Größe "42"\n`, PlacedAt: placedAt, Channel: "web",
			Customer: &Customer{ID: "界", Name: new("Zoë e\u0301 🍵")},
			Items:    []Item{{SKU: `茶 \ "`, Quantity: 1, UnitPrice: 1}},
		},
		v1: "955964e13b993ac3ba4317240744922bd878f887bd0ea1870bc48932d3f8cb29",
		v2: "74d5d71c18c522ea652961d4a5aa227ddce0bb2dd603ec04ae983b805523244d",
	},
	{
		name: "spaces, soft hyphen, byte order mark, private use, noncharacter",
		order: Order{
			Number: "a\u00a0b\u00adc", PlacedAt: placedAt, Channel: "web", Customer: &Customer{ID: "\u200bx\ufeff"},
			Items: []Item{{SKU: "\ue000 \U000f0000 \ufdd0", Quantity: 1, UnitPrice: 1}},
		},
		v1: "4feb1c62bbbd3276312673835677675f1cf1ed1198e9387ead9fc32a63da86f4",
		v2: "4df06133f8db014235253b2ccb5fe0d2a234702ffb8cc4e1292c134877163822",
	},
	{
		name: "characters that were assigned by Unicode 15.1, 16 and 17",
		order: Order{
			Number: "\u2ffc \U0002ebf0", PlacedAt: placedAt, Channel: "web", Customer: &Customer{ID: "\u1c89\ua7da"},
			Items: []Item{{SKU: "\U00016ea0 \U0001fac8", Quantity: 1, UnitPrice: 1}},
		},
		v1: "c28d44473fa3609b729ecede72a66cb8de7b54fce8007619e555609a3257837f",
		v2: "2d63b03ed91e67e575b3b5a03b6eedd68f1b05b676728105bca8a30438e50bae",
	},
	{
		name: "extreme values",
		order: Order{
			Number: strings.Repeat("ß", 100), PlacedAt: time.Unix(0, 0).UTC(), Channel: "a",
			Items: []Item{{SKU: "x\ufffdy", Quantity: maxQuantity, UnitPrice: 0}},
		},
		v1: "8f75300784846fb8722a56c792e812c6639083ce361ec22f87e59daa4b9efc9c",
		v2: "c0c64bcc16b69c247083881211d9e03b685c5605dd99560e31b31bf827fad7b7",
	},
}

var placedAt = time.Date(2026, 3, 1, 9, 30, 0, 123456000, time.UTC)

func TestDigestsOfOrdersNeverChange(t *testing.T) {
	t.Parallel()
	withShipping := goldenDigests[1].order
	withShipping.ShippingTotal = new(money.Cents(4_90))
	const v3 = "8dfb12d6f94521b9c7bc0cdda86c8de63e5f7035eff1bd1de21c5106928ab93f"
	if got := hex.EncodeToString(withShipping.digest()); got != v3 {
		t.Errorf("version 3 = %s, want %s", got, v3)
	}
	for _, test := range goldenDigests {
		if got := hex.EncodeToString(test.order.digestV1()); got != test.v1 {
			t.Errorf("%s: version 1 = %s, want %s", test.name, got, test.v1)
		}
		if got := hex.EncodeToString(test.order.digest()); got != test.v2 {
			t.Errorf("%s: version 2 = %s, want %s", test.name, got, test.v2)
		}
	}
}

// Version 1 used strconv.AppendQuote. A later version of Go may quote other characters.
func TestQuotesOfVersion1AreThoseOfUnicode15(t *testing.T) {
	t.Parallel()
	if unicode.Version != "15.0.0" {
		t.Skipf("strconv quotes by Unicode %s", unicode.Version)
	}
	for r := ' '; r <= unicode.MaxRune; r++ {
		if text := string(r); !unicode.IsControl(r) && string(appendQuoteV1(nil, text)) != strconv.Quote(text) {
			t.Fatalf("%U is quoted as %s, want %s", r, appendQuoteV1(nil, text), strconv.Quote(text))
		}
	}
}

func TestDigestsOfRefundsNeverChange(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		refund Refund
		want   string
	}{
		{Refund{OrderNumber: "A", Amount: 150}, "9ae2bdd7beedc2e766c6b76585530e16925115707dc7a06ab5ee4aa2776b2c7b"},
		{Refund{OrderNumber: "A", Amount: money.Max, RefundedAt: &placedAt, Reference: new("r")},
			"b84536cfc52287fe44443731c313baefd2c126ae7fd876355470e70c044b15ad"},
	} {
		if got := hex.EncodeToString(test.refund.digest()); got != test.want {
			t.Errorf("digest of %+v = %s, want %s", test.refund, got, test.want)
		}
	}
}
