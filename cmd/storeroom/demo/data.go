package demo

import (
	_ "embed"
	"encoding/json"

	"github.com/storeroom/storeroom/tenancy/money"
)

//go:embed shop.json
var shopJSON []byte

// shop is the content of shop.json. The history depends on the order of its elements.
var shop = readShop()

type shopData struct {
	Departments []department `json:"departments"`
	FirstNames  []string     `json:"first_names"` // 37 first and 41 last names make 1,517 different people
	LastNames   []string     `json:"last_names"`
	Companies   []string     `json:"companies"`
}

// department is a category of the shop with its products.
type department struct {
	Name     string    `json:"name"`
	Code     string    `json:"code"`     // the prefix of the SKUs
	Aisle    string    `json:"aisle"`    // the prefix of the bin locations
	Sellers  [2]string `json:"sellers"`  // the lines alternate between them
	Demand   [12]int   `json:"demand"`   // share of the sales from January to December
	Features []string  `json:"features"` // each line has three of them
	Lines    []line    `json:"lines"`
}

// line is a product in several variants.
type line struct {
	Name     string   `json:"name"`
	Cents    int64    `json:"cents"` // price of the first variant
	Step     int64    `json:"step"`  // increase of the price to the next variant, in percent
	Variants []string `json:"variants"`
	Tags     []string `json:"tags"`
	About    string   `json:"about"`
}

func readShop() (data shopData) {
	if err := json.Unmarshal(shopJSON, &data); err != nil {
		panic(err) // shop.json is a part of the program
	}
	return data
}

// channel is a sales channel of the shop. Probabilities are in percent.
type channel struct {
	identifier, label string
	shares            [3]int // of the orders on weekdays, Saturdays and Sundays
	hours             [2]int // opening and closing time
	lines             [2]int // minimum and maximum of an order
	named             int    // probability that the order names its customer
	vouchers, off     int    // probability of a voucher, and its discount
	cancelled         int    // probability of a cancellation
	wholesale         bool   // sells larger quantities to companies
	shipping          money.Cents
}

var channels = []channel{
	{"pos", "Point of sale", [3]int{38, 78, 0}, [2]int{9, 18}, [2]int{1, 3}, 25, 2, 5, 0, false, 0},
	{"online", "Online shop", [3]int{40, 42, 62}, [2]int{6, 23}, [2]int{1, 4}, 80, 8, 10, 3, false, 4_90},
	{"marketplace", "Marketplace", [3]int{14, 18, 22}, [2]int{5, 24}, [2]int{1, 2}, 0, 0, 0, 3, false, 3_50},
	{"wholesale", "Wholesale", [3]int{4, 0, 0}, [2]int{8, 16}, [2]int{3, 8}, 100, 100, 15, 2, true, 0},
}
