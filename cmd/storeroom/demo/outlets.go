package demo

// seasons is how much of each department is sold from January to December, in
// shares of what a day brings in. They are told by the code of the department.
var seasons = map[string][12]int{
	"TNT": {1, 1, 3, 6, 10, 14, 14, 9, 4, 2, 1, 2},
	"SLP": {1, 1, 3, 5, 8, 12, 12, 8, 4, 3, 2, 3},
	"CKN": {1, 1, 3, 6, 9, 12, 13, 9, 5, 3, 3, 7},
	"BAG": {4, 4, 5, 6, 8, 9, 9, 9, 7, 5, 5, 8},
	"LIT": {5, 4, 4, 5, 6, 6, 6, 7, 8, 10, 12, 16},
	"GTL": {2, 6, 16, 20, 16, 9, 6, 5, 6, 6, 3, 4},
	"POT": {2, 6, 15, 20, 16, 9, 5, 4, 5, 4, 3, 3},
	"PAT": {1, 2, 7, 14, 17, 15, 12, 6, 3, 1, 1, 1},
	"COK": {7, 6, 6, 5, 5, 4, 4, 5, 7, 9, 13, 22},
	"TAB": {6, 5, 5, 5, 5, 5, 5, 5, 7, 9, 13, 22},
	"BED": {9, 8, 6, 5, 4, 4, 4, 5, 8, 10, 13, 18},
	"STO": {12, 8, 7, 6, 5, 4, 4, 5, 7, 6, 5, 5},
}

// outlet is a channel of the shop and how it sells. Shares of orders are in percent.
type outlet struct {
	identifier, label string
	shares            [3]int // of a weekday's, a Saturday's and a Sunday's orders
	hours             [2]int // when it opens and closes
	lines             [2]int // fewest and most of an order
	named             int    // orders of people who give their name
	vouchers, off     int    // orders with a discount of their own, and its percent
	cancelled         int    // orders that are cancelled
	wholesale         bool   // sells to companies, by the crate
}

var outlets = []outlet{
	{"pos", "Point of sale", [3]int{38, 78, 0}, [2]int{9, 18}, [2]int{1, 3}, 25, 2, 5, 0, false},
	{"online", "Online shop", [3]int{40, 42, 62}, [2]int{6, 23}, [2]int{1, 4}, 80, 8, 10, 3, false},
	{"marketplace", "Marketplace", [3]int{14, 18, 22}, [2]int{5, 24}, [2]int{1, 2}, 0, 0, 0, 3, false},
	{"wholesale", "Wholesale", [3]int{4, 0, 0}, [2]int{8, 16}, [2]int{3, 8}, 100, 100, 15, 2, true},
}

// People are put together from these: 37 and 41 have no common factor, so that a
// name comes again only after 1,517 others.
var (
	firstNames = list{
		"Ada", "Alma", "Anselm", "Bela", "Bruno", "Carla", "Cosima", "Dario", "Edda", "Elias", "Enid", "Fabian", "Fenna", "Gideon",
		"Greta", "Hanno", "Hedda", "Ida", "Ilja", "Jarl", "Juno", "Kaja", "Kilian", "Leda", "Linus", "Malin", "Marlo", "Nela", "Nils",
		"Oda", "Orla", "Piet", "Runa", "Silas", "Thea", "Ubbe", "Wanda",
	}
	lastNames = list{
		"Alder", "Amsel", "Ashdown", "Barley", "Birk", "Bramble", "Brook", "Calder", "Clover", "Dale", "Dunlin", "Elder", "Fallow",
		"Fenwick", "Finch", "Garnet", "Gorse", "Hazel", "Heath", "Holm", "Ivory", "Juniper", "Kestrel", "Lark", "Linden", "Marsh",
		"Merle", "Moor", "Nettle", "Oakes", "Pike", "Quarry", "Reed", "Rowan", "Sorrel", "Tarn", "Thorne", "Vale", "Wells", "Wren",
		"Yarrow",
	}
	companies = list{
		"Alder Street Hotel", "Barn & Table", "Blue Heron Campsite", "Calder Garden Centre", "Dunlin Guesthouse", "Fallow Farm Shop",
		"Fern & Fold", "Gorse Hill Glamping", "Harbour Kitchen", "Holm Hardware", "Kestrel Outfitters", "Linden Stores",
		"Moorland Lodge", "North Quay Deli", "Quarry Cafe", "Rowan Retreat", "Saltmarsh Inn", "Thorne & Daughters",
	}
)
