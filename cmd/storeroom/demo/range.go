package demo

// department is a category of the shop and what it sells.
type department struct {
	name     string
	code     string    // begins each SKU
	sellers  [2]string // take turns
	aisle    string    // begins each bin location
	features []string  // of which each product claims three
	lines    []line
}

// line is one article in its variants.
type line struct {
	name     string
	cents    int64 // price of the first variant
	step     int64 // how much dearer each next variant is, in percent; 0 for colours
	variants []string
	about    string
	tags     []string
}

type list = []string

var (
	earth  = list{"Olive", "Sand", "Slate", "Rust"}
	bright = list{"Amber", "Moss", "Sky", "Plum"}
	glaze  = list{"Cream", "Indigo", "Charcoal", "Sage"}
	linen  = list{"Natural", "Rust", "Dusk", "Olive"}
	metal  = list{"Black", "Brushed steel", "Copper"}
	sizes  = list{"Small", "Medium", "Large"}
)

// departments is the whole range: some 300 products in their variants.
var departments = []department{
	{"Tents & shelters", "TNT", [2]string{"Larch & Loam", "Northbound Supply"}, "A",
		list{"Packs into its own sack", "Repair kit included", "Fabric free of PFAS", "Tested in a wind of 80 km/h", "Seams taped & reinforced", "Guy lines that glow at night"},
		[]line{
			{"Larch 2 tent", 24900, 0, earth, "A two-person tent for three seasons that stands without pegs.", list{"camping", "tent", "3-season"}},
			{"Larch 4 family tent", 42900, 0, earth, "Room for four and their bags, with a living space to stand up in.", list{"camping", "tent", "family"}},
			{"Ridge solo tent", 18900, 0, list{"Olive", "Slate"}, "A one-person tent of 1.2 kg for long walks.", list{"hiking", "tent", "lightweight"}},
			{"Trail tarp", 6900, 25, list{"2 × 3 m", "3 × 3 m", "3 × 4 m"}, "A ripstop tarp with sixteen loops, for a roof in a minute.", list{"camping", "tarp", "lightweight"}},
			{"Beach shelter", 5900, 0, bright, "Shade and wind protection that pops up in a second.", list{"beach", "family", "summer"}},
			{"Mosquito inner", 3900, 30, list{"Single", "Double"}, "A fine mesh inner tent that hangs under any tarp.", list{"camping", "lightweight"}},
			{"Groundsheet", 2400, 20, sizes, "Keeps the tent floor dry and whole.", list{"camping", "accessory"}},
			{"Peg set", 1290, 40, list{"10 pieces", "20 pieces"}, "Y-shaped aluminium pegs that hold in sand and gravel.", list{"camping", "accessory"}},
		}},
	{"Sleeping gear", "SLP", [2]string{"Northbound Supply", "Larch & Loam"}, "B",
		list{"Comes with a storage bag", "Recycled outer fabric", "Airs out overnight", "Weighs less than it looks", "Free of PFAS", "Repair service for ten years"},
		[]line{
			{"Drift down sleeping bag", 21900, 15, list{"+5 °C", "0 °C", "-7 °C"}, "A mummy bag for people who feel the cold.", list{"camping", "sleeping", "down"}},
			{"Haven synthetic sleeping bag", 9900, 0, earth, "A roomy bag that opens into a blanket.", list{"camping", "sleeping", "family"}},
			{"Cloud sleeping mat", 8900, 15, list{"Regular", "Wide", "Long & wide"}, "An inflatable mat 9 cm thick, with a pump sack.", list{"camping", "sleeping", "lightweight"}},
			{"Fold foam mat", 3490, 0, list{"Olive", "Amber"}, "A closed-cell mat that folds like a map.", list{"hiking", "sleeping"}},
			{"Camp pillow", 2290, 0, bright, "Half air, half foam, wholly soft.", list{"camping", "sleeping", "travel"}},
			{"Silk liner", 5490, 0, list{"Natural", "Dusk"}, "Adds warmth and keeps the sleeping bag clean.", list{"travel", "sleeping"}},
			{"Folding camp bed", 11900, 20, list{"Standard", "XL"}, "Off the ground, on the level, up to 140 kg.", list{"camping", "sleeping", "family"}},
			{"Travel blanket", 4490, 0, earth, "Packs into a pouch the size of an apple.", list{"travel", "sleeping", "gift"}},
		}},
	{"Camp kitchen", "CKN", [2]string{"Ember Works", "Northbound Supply"}, "C",
		list{"Stacks to save space", "Food-safe, free of BPA", "Made from recycled metal", "Cleans up with water & a brush", "Survives a fall on rock", "Spare parts for ten years"},
		[]line{
			{"Pocket gas stove", 4490, 0, metal, "Boils a litre in under four minutes and weighs 85 g.", list{"camping", "stove", "lightweight"}},
			{"Twin-burner stove", 12900, 0, metal, "Two burners of 2.2 kW with a wind shield.", list{"camping", "stove", "family"}},
			{"Nesting cook set", 5990, 30, list{"2 persons", "4 persons"}, "Pots, pan and lids, one inside the other.", list{"camping", "cooking"}},
			{"Enamel mug", 1090, 0, glaze, "The mug of every camp fire, now without chips for longer.", list{"camping", "drinkware", "gift"}},
			{"Insulated bottle", 2690, 18, list{"350 ml", "500 ml", "750 ml", "1 l"}, "Keeps tea hot for twelve hours and water cold for a day.", list{"drinkware", "travel", "gift"}},
			{"Spork set", 990, 0, bright, "Three titanium-look sporks on a carabiner.", list{"camping", "cooking", "gift"}},
			{"Cool box", 7900, 25, list{"15 l", "28 l", "45 l"}, "Ice stays ice for three days.", list{"camping", "family", "summer"}},
			{"Fire pit grill", 9900, 20, sizes, "A steel bowl with a swing-out grate.", list{"garden", "fire", "cooking"}},
		}},
	{"Backpacks & bags", "BAG", [2]string{"Northbound Supply", "Tern Goods"}, "D",
		list{"Recycled ripstop nylon", "YKK zips", "Hidden pocket for passport & cards", "Free repairs for life", "Seams sewn twice", "Bluesign-approved dyes"},
		[]line{
			{"Summit pack", 15900, 12, list{"35 l", "50 l", "65 l"}, "A trekking pack with an adjustable back.", list{"hiking", "backpack"}},
			{"Day pack 20", 7490, 0, earth, "For the office on Friday and the hill on Saturday.", list{"hiking", "backpack", "everyday"}},
			{"Roll-top backpack", 9900, 0, list{"Olive", "Charcoal", "Amber"}, "Waterproof, with a top that rolls to the size of the load.", list{"cycling", "backpack", "everyday"}},
			{"Duffel", 8900, 15, list{"40 l", "60 l", "90 l"}, "Carried as a bag or as a backpack.", list{"travel"}},
			{"Hip bag", 3290, 0, bright, "Phone, keys and a snack, close at hand.", list{"everyday", "gift"}},
			{"Dry bag", 1690, 25, list{"5 l", "10 l", "20 l", "40 l"}, "Roll, clip, and let it rain.", list{"paddling", "lightweight"}},
			{"Tote", 2490, 0, linen, "Heavy canvas with a flat bottom.", list{"everyday", "gift"}},
			{"Packing cube", 1890, 20, sizes, "Order in the bag, and an empty side for the laundry.", list{"travel", "accessory"}},
		}},
	{"Lanterns & lighting", "LIT", [2]string{"Ember Works", "Fjord Home"}, "E",
		list{"Warm light, easy on the eyes", "For indoors & outdoors", "Packed without plastic", "Three-year guarantee", "Made in small batches", "Parts can be replaced"},
		[]line{
			{"Glow camp lantern", 4990, 0, bright, "A lantern that also charges a phone.", list{"camping", "light", "rechargeable"}},
			{"Head torch", 3990, 35, list{"200 lm", "400 lm"}, "Light where you look, and no bounce when you run.", list{"camping", "light", "running"}},
			{"Festoon string light", 3490, 40, list{"5 m", "10 m", "20 m"}, "Warm bulbs for terrace and tent.", list{"garden", "light", "summer"}},
			{"Solar path light", 2790, 0, metal, "A set of four that switch on at dusk.", list{"garden", "light", "solar"}},
			{"Storm lantern", 5490, 0, list{"Black", "Brass", "Red"}, "A real flame behind real glass.", list{"garden", "light", "gift"}},
			{"Table lamp Hygge", 8900, 0, glaze, "Stoneware base, linen shade.", list{"home", "light"}},
			{"Candle", 1890, 30, sizes, "Rapeseed wax with cedar & sage.", list{"home", "gift"}},
			{"Lantern hook", 1490, 30, list{"60 cm", "120 cm"}, "A shepherd's crook that holds light over the path.", list{"garden", "light", "accessory"}},
		}},
	{"Garden tools", "GTL", [2]string{"Oak & Iron", "Larch & Loam"}, "F",
		list{"Made to be mended", "Ten-year guarantee", "Leather hanging loop", "Finished by hand", "Designed with gardeners", "Steel from Sheffield & Solingen"},
		[]line{
			{"Hand trowel", 2190, 0, list{"Ash", "Walnut"}, "A trowel that bends the soil and not itself.", list{"garden", "tool", "gift"}},
			{"Digging spade", 5990, 12, list{"Short", "Standard", "Long"}, "With a tread that is kind to boots.", list{"garden", "tool"}},
			{"Garden fork", 6290, 12, list{"Short", "Standard", "Long"}, "Four square tines for heavy ground.", list{"garden", "tool"}},
			{"Bypass secateurs", 4490, 0, list{"Red", "Black"}, "Clean cuts up to 22 mm, left- and right-handed.", list{"garden", "tool", "pruning"}},
			{"Pruning saw", 3790, 20, list{"210 mm", "270 mm"}, "Folds into its handle.", list{"garden", "tool", "pruning"}},
			{"Watering can", 3290, 25, list{"3 l", "5 l", "9 l"}, "Galvanised steel with a brass rose.", list{"garden", "watering"}},
			{"Garden gloves", 1490, 0, sizes, "Goatskin palms, cotton backs.", list{"garden", "clothing"}},
			{"Kneeling pad", 1790, 0, linen, "Thick felt that dries overnight.", list{"garden"}},
		}},
	{"Planters & pots", "POT", [2]string{"Terra Ceramics", "Oak & Iron"}, "G",
		list{"Frost-proof to -20 °C", "Each piece differs a little", "Colour that does not fade", "Made within 300 km", "Packed in straw & paper", "Feet that spare the floor"},
		[]line{
			{"Terracotta pot", 890, 45, list{"12 cm", "18 cm", "24 cm", "32 cm"}, "The classic, fired at 1,100 °C.", list{"garden", "pot"}},
			{"Glazed planter", 3490, 0, glaze, "A reactive glaze that is never twice the same.", list{"garden", "home", "pot"}},
			{"Raised bed", 8900, 30, list{"100 × 50 cm", "150 × 50 cm", "200 × 100 cm"}, "Untreated larch, put together without tools.", list{"garden", "wood"}},
			{"Hanging pot", 2290, 0, linen, "On a rope of jute, for the window.", list{"home", "pot", "gift"}},
			{"Window box", 3990, 20, list{"60 cm", "80 cm"}, "Zinc, with hooks for any railing.", list{"garden", "balcony"}},
			{"Seed starter kit", 1990, 0, list{"Herbs", "Salad", "Wild flowers"}, "Peat-free pots, soil and eight sorts of seed.", list{"garden", "gift", "spring"}},
			{"Compost bin", 6900, 25, list{"280 l", "420 l"}, "Recycled plastic, with a hatch below.", list{"garden", "recycled"}},
			{"Plant stand", 4490, 25, sizes, "Turned beech legs that lift a pot into the light.", list{"home", "wood", "pot"}},
		}},
	{"Patio furniture", "PAT", [2]string{"Fjord Home", "Oak & Iron"}, "H",
		list{"FSC-certified wood, where there is wood", "Ready to use, no tools needed", "Weatherproof from March to November", "Holds more than it looks", "Stores flat or stacked", "Spare parts for ten years"},
		[]line{
			{"Bistro chair", 5990, 0, bright, "The folding chair of every pavement café.", list{"garden", "balcony", "furniture"}},
			{"Bistro table", 8900, 25, list{"60 cm", "77 cm"}, "Round, for two coffees or four elbows.", list{"garden", "balcony", "furniture"}},
			{"Lounge chair", 24900, 0, list{"Sand", "Slate"}, "Low, wide and hard to leave.", list{"garden", "furniture"}},
			{"Hammock", 7900, 0, bright, "Woven cotton for one and a half.", list{"garden", "summer", "gift"}},
			{"Parasol", 12900, 30, list{"2 m", "2.7 m", "3.5 m"}, "Tilts with the sun; UPF 50+.", list{"garden", "summer", "furniture"}},
			{"Outdoor cushion", 2990, 0, linen, "Dries in an hour after the shower.", list{"garden", "textile"}},
			{"Garden bench", 21900, 30, list{"2 seats", "3 seats"}, "Mortise and tenon, and a little curve in the back.", list{"garden", "furniture", "wood"}},
			{"Side table", 6490, 0, bright, "For the book, the glass and the glasses.", list{"garden", "balcony", "furniture"}},
		}},
	{"Cookware", "COK", [2]string{"Kettle & Crumb", "Ember Works"}, "J",
		list{"Made for daily use", "No coating that can peel", "Sits well in the hand", "Cleans up with water & a brush", "Made from recycled metal or FSC wood", "Guaranteed for thirty years"},
		[]line{
			{"Cast-iron skillet", 4990, 25, list{"20 cm", "26 cm", "30 cm"}, "A pan for life and for the one after.", list{"kitchen", "cooking", "cast-iron"}},
			{"Dutch oven", 13900, 20, list{"3 l", "4.5 l", "6 l"}, "Enamelled, for bread, stew and slow Sundays.", list{"kitchen", "cooking", "cast-iron"}},
			{"Carbon-steel wok", 5990, 0, list{"Flat base", "Round base"}, "Light enough to toss, hot enough to sear.", list{"kitchen", "cooking"}},
			{"Saucepan", 4490, 20, list{"1 l", "1.5 l", "2.5 l"}, "Three layers, two spouts and one lid.", list{"kitchen", "cooking"}},
			{"Chef's knife", 8900, 0, list{"Walnut", "Olive wood"}, "A 20 cm blade that takes an edge & keeps it.", list{"kitchen", "knife", "gift"}},
			{"Chopping board", 3490, 30, sizes, "End-grain oak with a juice groove.", list{"kitchen", "wood", "gift"}},
			{"Moka pot", 2990, 30, list{"3 cups", "6 cups"}, "Coffee as it was meant to sound.", list{"kitchen", "coffee", "gift"}},
			{"Pour-over kettle", 7490, 0, metal, "A gooseneck that pours where you aim.", list{"kitchen", "coffee"}},
		}},
	{"Tableware", "TAB", [2]string{"Terra Ceramics", "Fjord Home"}, "K",
		list{"Dishwasher safe", "Stacks well", "Finished by hand", "Free of lead & cadmium", "Replacement pieces for ten years", "Packed in paper"},
		[]line{
			{"Dinner plate", 1690, 0, glaze, "A rim that keeps the sauce where it belongs.", list{"table", "stoneware"}},
			{"Breakfast bowl", 1490, 0, glaze, "Deep enough for porridge, pretty enough for guests.", list{"table", "stoneware"}},
			{"Espresso cup", 1190, 0, glaze, "Thick walls, small handle, no saucer needed.", list{"table", "coffee", "gift"}},
			{"Serving platter", 4990, 0, list{"Cream", "Indigo"}, "For the roast, the salad or the applause.", list{"table", "stoneware", "gift"}},
			{"Carafe", 3490, 25, list{"0.75 l", "1.2 l"}, "Mouth-blown, with a cork stopper.", list{"table", "glass"}},
			{"Tumbler set", 2990, 0, list{"Clear", "Smoke", "Green"}, "Six glasses from recycled bottles.", list{"table", "glass", "recycled"}},
			{"Cutlery set", 8900, 50, list{"16 pieces", "24 pieces"}, "18/10 steel with a satin finish.", list{"table", "gift"}},
			{"Salt & pepper pair", 2290, 0, glaze, "Two shakers that know which one they are.", list{"table", "stoneware", "gift"}},
		}},
	{"Bedding & throws", "BED", [2]string{"Tern Goods", "Fjord Home"}, "L",
		list{"OEKO-TEX certified", "Gets softer with every wash", "Woven in Portugal", "Machine wash at 40 °C", "Dyed in the piece, colours stay", "Wrapped in a cloth bag"},
		[]line{
			{"Linen duvet cover", 14900, 15, list{"Single", "Double", "King"}, "Cool in July, warm in January.", list{"home", "bedding", "linen"}},
			{"Linen pillowcase", 3490, 0, linen, "Fifty by seventy-five, with an envelope close.", list{"home", "bedding", "linen"}},
			{"Wool throw", 8990, 0, list{"Oatmeal", "Forest", "Clay", "Ink"}, "Lambswool from the mill that invented the pattern.", list{"home", "wool", "gift"}},
			{"Waffle towel", 1990, 60, list{"Hand", "Bath", "Beach"}, "Dries fast, folds small.", list{"home", "bath"}},
			{"Down pillow", 6490, 20, list{"Soft", "Medium", "Firm"}, "Three chambers, one good night.", list{"home", "bedding", "down"}},
			{"Picnic blanket", 4990, 0, earth, "Wool above, waterproof below, leather straps around.", list{"garden", "summer", "gift"}},
			{"Hot-water bottle", 2790, 0, list{"Oatmeal", "Forest"}, "In a knitted jacket.", list{"home", "winter", "gift"}},
			{"Fitted sheet", 4290, 18, list{"Single", "Double", "King"}, "Percale that stays where it is put.", list{"home", "bedding"}},
		}},
	{"Storage", "STO", [2]string{"Tern Goods", "Oak & Iron"}, "M",
		list{"Made from recycled or renewable stuff", "Handles that do not cut", "Holds 20 kg", "Label holder included", "Spares the floor & the wall", "Comes assembled"},
		[]line{
			{"Seagrass basket", 2490, 35, sizes, "Woven by hand, with a rope handle.", list{"home", "storage", "natural"}},
			{"Folding crate", 1490, 25, list{"16 l", "32 l", "46 l"}, "From the car boot to the pantry.", list{"storage", "recycled", "everyday"}},
			{"Peg rail", 2990, 35, list{"3 pegs", "5 pegs"}, "Solid oak, for coats and good intentions.", list{"home", "wood"}},
			{"Pantry jar", 1290, 30, list{"0.5 l", "1 l", "2 l"}, "Borosilicate glass under an acacia lid.", list{"kitchen", "glass", "storage"}},
			{"Laundry hamper", 4490, 0, linen, "Two compartments and a lid.", list{"home", "storage", "textile"}},
			{"Tool chest", 7990, 0, list{"Red", "Green"}, "Sheet steel, three drawers.", list{"garage", "storage", "tool"}},
			{"Boot tray", 2790, 0, metal, "Keeps the mud by the door.", list{"home", "storage", "winter"}},
			{"Wire basket", 1690, 30, sizes, "For apples, wool or the post.", list{"kitchen", "storage"}},
		}},
}
