-- Creates at most 200 categories and 500 sellers, two warehouses and @products products of a tenant. @names limits both.

insert into categories (tenant_id, name)
select @tenant, initcap(room) || ' ' || kind
  from unnest('{attic, balcony, bath, camp, cellar, garage, garden, hall, kitchen, nursery, office, patio, porch,
                study, terrace, travel, van, winter, workshop, yard}'::text[]) room,
       unnest('{care, comfort, decor, furniture, lighting, storage, textiles, tools, ware, spares}'::text[]) kind
 order by 2
 limit @names::int;

insert into sellers (tenant_id, name)
select @tenant, owner || ' ' || trade
  from unnest('{Alder, Birch, Cedar, Dune, Elm, Fjord, Grove, Heath, Iron, Juniper, Kelp, Larch, Moor, North, Oak,
                Pine, Quay, Rowan, Stone, Tern, Umber, Vale, Willow, Yarrow, Zinc}'::text[]) owner,
       unnest('{& Co, & Daughters, Brothers, Company, Crafts, Design, Direct, Factory, Forge, Goods, Guild, House,
                Imports, Labs, Makers, Mill, Outlet, Studio, Supply, Works}'::text[]) trade
 order by 2
 limit @names::int;

insert into warehouses (tenant_id, name) values (@tenant, 'North depot'), (@tenant, 'Shop floor');

-- The products are created over two years. 60 % of them are in the default warehouse, 10 % are
-- drafts, 5 % are out of stock. Scenarios search for the words heritage (2 %, the oldest),
-- nautical (0.9 %) and enamelled (5 %) and for the tags sale (5 %) and last-piece (0.04 %).
with refs as (
	select (select array_agg(id order by id) from categories where tenant_id = @tenant) as categories,
	       (select array_agg(id order by id) from sellers where tenant_id = @tenant) as sellers,
	       (select array_agg(id order by id) from warehouses where tenant_id = @tenant) as warehouses
), drawn as (
	select n, refs.*,
	       pg_temp.pick(1, n, '{enamelled, brushed, folding, handmade, insulated, large, lightweight, mini, modular,
	           natural, outdoor, portable, quilted, recycled, slim, solid, stackable, vintage, waterproof,
	           woven}') as make,
	       pg_temp.pick(2, n, '{backpack, basket, bench, blanket, bottle, bowl, brush, bucket, candle, carafe, chair,
	           chest, clock, cushion, desk, duffel, hammock, headlamp, jacket, kettle, ladder, lantern, mat, mirror,
	           mug, oven, pan, parasol, pillow, planter, rack, rug, shelf, skillet, spade, stove, table, tent, towel,
	           trolley}') as thing,
	       pg_temp.pick(3, n, '{amber, black, charcoal, clay, copper, cream, dusk, forest, indigo, ivory, linen, moss,
	           oatmeal, olive, plum, rust, sage, sand, sky, slate}') as colour,
	       case when n <= @products::bigint / 50 then 'heritage ' else '' end
	         || case when n % 111 = 0 then 'nautical ' else '' end as line,
	       199 + pg_temp.draw(4, n, 60000) as price,
	       case when pg_temp.draw(5, n, 20) = 0 then 0 else pg_temp.draw(6, n, 500) end as quantity,
	       array[pg_temp.pick(7, n, '{balcony, bath, bedding, camping, coffee, cooking, cycling, decor, down, everyday,
	           family, fire, garden, gift, glass, hiking, home, kitchen, light, linen, natural, office, paddling, pot,
	           pruning, running, sleeping, solar, spring, stoneware, storage, summer, table, tool, travel, watering,
	           winter, wood, wool, yard}')]
	         || case when n % 20 = 0 then array['sale'] else '{}' end
	         || case when n % 2500 = 0 then array['last-piece'] else '{}' end as tags,
	       timestamptz '2024-01-01' + n * (interval '730 days' / greatest(@products::bigint, 1)::float) as created_at
	  from generate_series(1, case when @wide::int = 0 then @products::bigint else 0 end) n, refs
), named as (
	select *, initcap(line || make || ' ' || thing) || ', ' || colour || ' ' || n % 90 as name,
	       upper(left(thing, 3) || '-' || left(colour, 2)) || '-' || lpad(n::text, 7, '0') as sku,
	       '40' || lpad((n * 7 % 9999999967)::text, 10, '0') as upc
	  from drawn
)
insert into products (tenant_id, sku, name, description, price, msrp, cost, status, condition,
                      quantity, reorder_point, category_id, seller_id, warehouse_id, bin_location,
                      upc, tags, search, created_at, updated_at, changed_at)
select @tenant, sku, name,
       format('<p>A %s %s in %s, made to be used and to be mended.</p>'
              '<ul><li>Parts for ten years</li><li>Packed in paper</li><li>Article %s</li></ul>', make, thing, colour, n),
       price, price * 5 / 4, price * 11 / 20,
       case when pg_temp.draw(8, n, 10) = 0 then 'draft' else 'active' end,
       case when pg_temp.draw(9, n, 16) = 0 then 'used' else 'new' end,
       quantity, 20,
       categories[1 + pg_temp.draw(10, n, cardinality(categories))],
       sellers[1 + pg_temp.draw(11, n, cardinality(sellers))],
       warehouses[(array[1,1,1,1,1,1,2,2,2,3])[1 + pg_temp.draw(12, n, 10)]],
       format('%s-%s', chr(65 + pg_temp.draw(13, n, 26)), n % 400), upc, tags,
       ' ' || lower(name || ' ' || sku || ' ' || upc), created_at, created_at, created_at
  from named;

-- The products of the wide tenant are in one warehouse, a fifth of them in the first category and 20 in
-- the second. They have neither stock nor tags nor words to search for.
insert into products (tenant_id, sku, name, price, status, condition, category_id, seller_id, warehouse_id,
                      search, created_at, updated_at, changed_at)
select @tenant, 'U-' || lpad(pg_temp.draw(21, n, 10000) || '-' || n, 12, '0'),
       initcap(pg_temp.pick(2, n, '{bench, chair, desk, kettle, lamp, mat, oven, rug, stove, tent}')) || ' ' || n % 977,
       199 + pg_temp.draw(4, n, 60000), case when pg_temp.draw(8, n, 10) = 0 then 'draft' else 'active' end, 'new',
       c.ids[case when n % 5 = 0 then 1 when n % greatest(2, @products::bigint / 20) = 1 then 2
                  else 3 + pg_temp.draw(10, n, cardinality(c.ids) - 2) end],
       s.ids[1 + pg_temp.draw(11, n, cardinality(s.ids))], w.id, ' ', at, at, at
  from generate_series(1, case when @wide::int > 0 then @products::bigint else 0 end) n,
       lateral (select timestamptz '2024-01-01' + n * (interval '730 days' / @products::bigint::float)) created (at),
       (select array_agg(id order by id) as ids from categories where tenant_id = @tenant) c,
       (select array_agg(id order by id) as ids from sellers where tenant_id = @tenant) s,
       (select id from warehouses where tenant_id = @tenant and is_default) w;

insert into product_tags (tenant_id, tag, created_at, product_id, status, name, sku, price)
select tenant_id, unnest(tags), created_at, id, status, name, sku, price
  from products
 where tenant_id = @tenant;

insert into stock (tenant_id, product_id, warehouse_id, quantity)
select tenant_id, id, warehouse_id, quantity
  from products
 where tenant_id = @tenant and quantity > 0;

insert into inventory_adjustments
       (tenant_id, product_id, warehouse_id, type, quantity, quantity_before, quantity_after, created_at)
select tenant_id, id, warehouse_id, 'set', quantity, 0, quantity, created_at
  from products
 where tenant_id = @tenant and quantity > 0;
