package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// Tags and words of the generated products that scenarios search for, with their share of the
// products.
const (
	commonTag  = "sale"       // 5 %
	rareTag    = "last-piece" // 0.04 %
	commonWord = "enamelled"  // 5 %, evenly distributed
	someWord   = "nautical"   // 0.9 %, just few enough to be fetched by id
	oldWord    = "heritage"   // 2 %, the oldest products, which a scan from the newest finds last
	twoLetters = "wa"         // the start of a word of 5 %
	noWord     = "zeppelin"
	noLetters  = "zq"
)

var (
	makes = words(commonWord + `, brushed, folding, handmade, insulated, large, lightweight, mini, modular, natural, outdoor,
		portable, quilted, recycled, slim, solid, stackable, vintage, waterproof, woven`)
	things = words(`backpack, basket, bench, blanket, bottle, bowl, brush, bucket, candle, carafe, chair, chest, clock,
		cushion, desk, duffel, hammock, headlamp, jacket, kettle, ladder, lantern, mat, mirror, mug, oven,
		pan, parasol, pillow, planter, rack, rug, shelf, skillet, spade, stove, table, tent, towel, trolley`)
	colours = words(`amber, black, charcoal, clay, copper, cream, dusk, forest, indigo, ivory, linen, moss, oatmeal,
		olive, plum, rust, sage, sand, sky, slate`)
	rooms = words(`attic, balcony, bath, camp, cellar, garage, garden, hall, kitchen, nursery, office, patio, porch,
		study, terrace, travel, van, winter, workshop, yard`)
	kinds  = words(`care, comfort, decor, furniture, lighting, storage, textiles, tools, ware, spares`)
	owners = words(`Alder, Birch, Cedar, Dune, Elm, Fjord, Grove, Heath, Iron, Juniper, Kelp, Larch, Moor, North, Oak,
		Pine, Quay, Rowan, Stone, Tern, Umber, Vale, Willow, Yarrow, Zinc`)
	trades = words(`& Co, & Daughters, Brothers, Company, Crafts, Design, Direct, Factory, Forge, Goods, Guild, House,
		Imports, Labs, Makers, Mill, Outlet, Studio, Supply, Works`)
	tags = words(`balcony, bath, bedding, camping, coffee, cooking, cycling, decor, down, everyday, family, fire,
		garden, gift, glass, hiking, home, kitchen, light, linen, natural, office, paddling, pot, pruning,
		running, sleeping, solar, spring, stoneware, storage, summer, table, tool, travel, watering, winter,
		wood, wool, yard`)
)

// words splits a list at its commas.
func words(list string) []string {
	all := strings.Split(list, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// array returns words without quotes as an SQL array.
func array(words []string) string { return "array['" + strings.Join(words, "','") + "']" }

// draw returns an SQL expression for a number below n that depends only on the row number
// and the salt, so that every machine generates the same data.
func draw(salt int, n string) string {
	return fmt.Sprintf("((hashint8extended(n, %d) & 2147483647) %% %s)::int", salt, n)
}

// pick returns an SQL expression for one of the words.
func pick(salt int, words []string) string {
	return fmt.Sprintf("(%s)[1 + %s]", array(words), draw(salt, fmt.Sprint(len(words))))
}

// insertReferences creates 200 categories, 500 sellers and two warehouses.
var insertReferences = []string{
	`insert into categories (tenant_id, name)
	 select $1, initcap(room) || ' ' || kind
	   from unnest(` + array(rooms) + `) room, unnest(` + array(kinds) + `) kind
	  order by 2`,
	`insert into sellers (tenant_id, name)
	 select $1, owner || ' ' || trade
	   from unnest(` + array(owners) + `) owner, unnest(` + array(trades) + `) trade
	  order by 2`,
	`insert into warehouses (tenant_id, name) values ($1, 'North depot'), ($1, 'Shop floor')`,
}

// insertProducts creates products 1 to $2 of tenant $1 over two years. 60 % of them are in
// the default warehouse, 10 % are drafts, 5 % are out of stock.
var insertProducts = `
	with refs as (
		select (select array_agg(id order by id) from categories where tenant_id = $1) as categories,
		       (select array_agg(id order by id) from sellers where tenant_id = $1) as sellers,
		       (select array_agg(id order by id) from warehouses where tenant_id = $1) as warehouses
	), drawn as (
		select n, refs.*,
		       ` + pick(1, makes) + ` as make,
		       ` + pick(2, things) + ` as thing,
		       ` + pick(3, colours) + ` as colour,
		       case when n <= $2 / 50 then '` + oldWord + ` ' else '' end
		         || case when n % 111 = 0 then '` + someWord + ` ' else '' end as line,
		       199 + ` + draw(4, "60000") + ` as price,
		       case when ` + draw(5, "20") + ` = 0 then 0 else ` + draw(6, "500") + ` end as quantity,
		       array[` + pick(7, tags) + `]
		         || case when n % 20 = 0 then array['` + commonTag + `'] else '{}' end
		         || case when n % 2500 = 0 then array['` + rareTag + `'] else '{}' end as tags,
		       timestamptz '2024-01-01' + n * (interval '730 days' / $2::float) as created_at
		  from generate_series(1::bigint, $2::bigint) n, refs
	), named as (
		select *, initcap(line || make || ' ' || thing) || ', ' || colour || ' ' || n % 90 as name,
		       upper(left(thing, 3) || '-' || left(colour, 2)) || '-' || lpad(n::text, 7, '0') as sku,
		       '40' || lpad((n * 7 % 9999999967)::text, 10, '0') as upc
		  from drawn
	)
	insert into products (tenant_id, sku, name, description, price, msrp, cost, status, condition,
	                      quantity, reorder_point, category_id, seller_id, warehouse_id, bin_location,
	                      upc, tags, search, created_at, updated_at, changed_at)
	select $1, sku, name,
	       format('<p>A %s %s in %s, made to be used and to be mended.</p>'
	              '<ul><li>Parts for ten years</li><li>Packed in paper</li><li>Article %s</li></ul>', make, thing, colour, n),
	       price, price * 5 / 4, price * 11 / 20,
	       case when ` + draw(8, "10") + ` = 0 then 'draft' else 'active' end,
	       case when ` + draw(9, "16") + ` = 0 then 'used' else 'new' end,
	       quantity, 20,
	       categories[1 + ` + draw(10, "200") + `], sellers[1 + ` + draw(11, "500") + `],
	       warehouses[(array[1,1,1,1,1,1,2,2,2,3])[1 + ` + draw(12, "10") + `]],
	       format('%s-%s', chr(65 + ` + draw(13, "26") + `), n % 400), upc, tags,
	       ' ' || lower(name || ' ' || sku || ' ' || upc), created_at, created_at, created_at
	  from named`

// insertDependents creates the rows that the catalog writes together with the products.
var insertDependents = []string{
	`insert into product_tags (tenant_id, tag, created_at, product_id)
	 select tenant_id, unnest(tags), created_at, id
	   from products
	  where tenant_id = $1`,
	`insert into stock (tenant_id, product_id, warehouse_id, quantity)
	 select tenant_id, id, warehouse_id, quantity
	   from products
	  where tenant_id = $1 and quantity > 0`,
	`insert into inventory_adjustments
	        (tenant_id, product_id, warehouse_id, type, quantity, quantity_before, quantity_after, created_at)
	 select tenant_id, id, warehouse_id, 'set', quantity, 0, quantity, created_at
	   from products
	  where tenant_id = $1 and quantity > 0`,
}

const countProducts = `
	insert into product_counts (tenant_id, slot, status, count)
	select tenant_id, 0, status, count(*) from products group by tenant_id, status`

// fillShop creates the references, products and stock of a tenant.
func fillShop(ctx context.Context, conn *pgx.Conn, tenant tenancy.ID, products int) error {
	for _, sql := range insertReferences {
		if _, err := conn.Exec(ctx, sql, tenant); err != nil {
			return err
		}
	}
	if products == 0 {
		return nil
	}
	if _, err := conn.Exec(ctx, insertProducts, tenant, products); err != nil {
		return err
	}
	for _, sql := range insertDependents {
		if _, err := conn.Exec(ctx, sql, tenant); err != nil {
			return err
		}
	}
	return nil
}
