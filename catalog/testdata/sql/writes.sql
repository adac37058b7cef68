-- create
with p as (
insert into products (tenant_id, search,
       sku, name, description, price,
       msrp, cost, status, condition,
       quantity, reorder_point, category_id, seller_id,
       warehouse_id, bin_location, upc, tags,
       images)
select $1, r.search,
       r.sku, r.name, r.description, r.price,
       r.msrp, r.cost, r.status, r.condition,
       r.quantity, r.reorder_point, r.category_id, r.seller_id,
       coalesce(nullif(r.warehouse_id, 0), (select id from warehouses where tenant_id = $1 and is_default)), r.bin_location, r.upc, r.tags,
       r.images
  from (
       values ($3::text,
       $4::text, $5::text, $6::text, $7::bigint,
       $8::bigint, $9::bigint, $10::text, $11::text,
       $12::integer, $13::integer, $14::bigint, $15::bigint,
       $16::bigint, $17::text, $18::text, $19::text[],
       $20::jsonb)
       ) r (search,
       sku, name, description, price,
       msrp, cost, status, condition,
       quantity, reorder_point, category_id, seller_id,
       warehouse_id, bin_location, upc, tags,
       images)
 where (select set_config('app.recorded', statement_timestamp()::text, true)
       || set_config('app.counted', statement_timestamp()::text, true)) is not null
returning *
), stocked as (
insert into stock (tenant_id, product_id, warehouse_id, quantity)
select tenant_id, id, warehouse_id, quantity
  from p
 where quantity > 0
), ledger as (
insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity,
       quantity_before, quantity_after, api_key_id)
select tenant_id, id, warehouse_id, 'set', quantity, 0, quantity, $2::bigint
  from p
 where quantity > 0
), recorded as (
insert into changes (tenant_id, epoch, action, types, ids)
select $1, feed_epoch($1), 'created', '{product,stock}', array[id::text]
  from p
)
select p.id, p.created_at, p.updated_at,
       p.sku, p.name, p.description, p.price,
       p.msrp, p.cost, p.status, p.condition,
       p.quantity, p.reorder_point, p.category_id, p.seller_id,
       p.warehouse_id, p.bin_location, p.upc, p.tags,
       p.images,
       (select name from categories where tenant_id = p.tenant_id and id = p.category_id) as category_name,
       (select name from sellers where tenant_id = p.tenant_id and id = p.seller_id) as seller_name,
       (select name from warehouses where tenant_id = p.tenant_id and id = p.warehouse_id) as warehouse_name
  from p

-- create, upsert
insert into product_texts as t (tenant_id, product_id, version, text)
select $1, o.id, $2, u.text
  from unnest($3::text[], $4::text[]) u (key, text)
 cross join lateral (select * from products where tenant_id = $1 and sku = u.key limit 1) o
    on conflict (tenant_id, product_id) do update
   set version = excluded.version, text = excluded.text
 where (t.version, t.text) is distinct from (excluded.version, excluded.text)

-- patch, adjust_set, delete
select id from products where tenant_id = $1 and id = $2 for update

-- patch, adjust_add, adjust_remove and 2 more
select p.id, p.created_at, p.updated_at,
       p.sku, p.name, p.description, p.price,
       p.msrp, p.cost, p.status, p.condition,
       p.quantity, p.reorder_point, p.category_id, p.seller_id,
       p.warehouse_id, p.bin_location, p.upc, p.tags,
       p.images,
       (select name from categories where tenant_id = p.tenant_id and id = p.category_id) as category_name,
       (select name from sellers where tenant_id = p.tenant_id and id = p.seller_id) as seller_name,
       (select name from warehouses where tenant_id = p.tenant_id and id = p.warehouse_id) as warehouse_name
  from products p
 where p.tenant_id = $1 and p.id = $2

-- patch, adjust_set, delete
select warehouse_id, quantity
  from stock
 where tenant_id = $1 and product_id = $2
 order by warehouse_id

-- patch
with p as (
update products p
   set search = $3, updated_at = clock_timestamp(), changed_at = clock_timestamp(),
       sku = $4, name = $5, description = $6, price = $7,
       msrp = $8, cost = $9, status = $10, condition = $11,
       quantity = $12, reorder_point = $13, category_id = $14, seller_id = $15,
       warehouse_id = $16, bin_location = $17, upc = $18, tags = $19,
       images = $20
 where p.tenant_id = $1 and p.id = $2
returning *,
       (select set_config('app.recorded', statement_timestamp()::text, true))
), recorded as (
insert into changes (tenant_id, epoch, action, types, changed, ids)
select $1, feed_epoch($1), 'updated', $21, $22, array[id::text]
  from p
)
select p.id, p.created_at, p.updated_at,
       p.sku, p.name, p.description, p.price,
       p.msrp, p.cost, p.status, p.condition,
       p.quantity, p.reorder_point, p.category_id, p.seller_id,
       p.warehouse_id, p.bin_location, p.upc, p.tags,
       p.images,
       (select name from categories where tenant_id = p.tenant_id and id = p.category_id) as category_name,
       (select name from sellers where tenant_id = p.tenant_id and id = p.seller_id) as seller_name,
       (select name from warehouses where tenant_id = p.tenant_id and id = p.warehouse_id) as warehouse_name
  from p

-- patch, adjust_set, order_stock
insert into stock (tenant_id, product_id, warehouse_id, quantity)
select distinct on (c.product_id, c.warehouse_id) $1::bigint, c.product_id, c.warehouse_id, c.in_warehouse
  from rows from (
       jsonb_to_recordset($2) as (product_id bigint, warehouse_id bigint, in_warehouse integer)
       ) with ordinality c (product_id, warehouse_id, in_warehouse, place)
 order by c.product_id, c.warehouse_id, c.place desc
on conflict (tenant_id, product_id, warehouse_id) do update
   set quantity = excluded.quantity

-- patch, adjust_set, delete and 1 more
with entry as (
insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity,
       quantity_before, quantity_after, notes, order_number, reason, api_key_id, member)
select $1, c.product_id, c.warehouse_id, c.type, c.quantity,
       c.quantity_before, c.quantity_after, c.notes, c.order_number, c.reason, $3::bigint, $4
  from rows from (
       jsonb_to_recordset($2) as (product_id bigint, warehouse_id bigint, type text, quantity integer,
                                  quantity_before integer, quantity_after integer, notes text,
                                  order_number text, reason text)
       ) with ordinality c (product_id, warehouse_id, type, quantity, quantity_before, quantity_after, notes,
                            order_number, reason, place)
 order by c.place
returning *
)
select a.id, a.type, a.quantity, a.warehouse_id, a.quantity_before, a.quantity_after, a.notes,
       a.order_number, a.reason, a.api_key_id, a.created_at, a.member,
       null as api_key_name
  from entry a
 order by a.id

-- upsert
select p.id, p.sku, coalesce(octet_length(p.description), 0) as size
  from unnest($2::text[]) s (sku)
 cross join lateral (
       select id, sku, description
         from products
        where tenant_id = $1 and sku = s.sku
        limit 1
          for update
       ) p

-- upsert
select storage, records, storage_limit, records_limit from read_quota($1)

-- upsert
select p.id, p.created_at, p.updated_at,
       p.sku, p.name, p.description, p.price,
       p.msrp, p.cost, p.status, p.condition,
       p.quantity, p.reorder_point, p.category_id, p.seller_id,
       p.warehouse_id, p.bin_location, p.upc, p.tags,
       p.images,
       null as category_name, null as seller_name, '' as warehouse_name
  from unnest($2::text[]) s (sku)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and sku = s.sku
        limit 1
       ) p

-- upsert
select s.product_id, s.warehouse_id, s.quantity
  from unnest($2::text[]) n (sku)
 cross join lateral (
       select *
         from products
        where tenant_id = $1 and sku = n.sku
        limit 1
       ) p
 cross join lateral (
       select product_id, warehouse_id, quantity
         from stock
        where tenant_id = $1 and product_id = p.id
       offset 0
       ) s
 order by s.product_id, s.warehouse_id

-- upsert
select r.id
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select id
         from categories
        where tenant_id = $1 and id = i.id
        limit 1
       ) r

-- upsert
select r.id
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select id
         from sellers
        where tenant_id = $1 and id = i.id
        limit 1
       ) r

-- upsert
select r.id
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select id
         from warehouses
        where tenant_id = $1 and id = i.id
        limit 1
       ) r

-- upsert
with p as (
insert into products (tenant_id, search,
       sku, name, description, price,
       msrp, cost, status, condition,
       quantity, reorder_point, category_id, seller_id,
       warehouse_id, bin_location, upc, tags,
       images)
select $1, r.search,
       r.sku, r.name, r.description, r.price,
       r.msrp, r.cost, r.status, r.condition,
       r.quantity, r.reorder_point, r.category_id, r.seller_id,
       coalesce(nullif(r.warehouse_id, 0), (select id from warehouses where tenant_id = $1 and is_default)), r.bin_location, r.upc, r.tags,
       r.images
  from jsonb_to_recordset($3) as r (search text,
       sku text, name text, description text, price bigint,
       msrp bigint, cost bigint, status text, condition text,
       quantity integer, reorder_point integer, category_id bigint, seller_id bigint,
       warehouse_id bigint, bin_location text, upc text, tags text[],
       images jsonb)
 order by r.sku collate "C"
returning *
), stocked as (
insert into stock (tenant_id, product_id, warehouse_id, quantity)
select tenant_id, id, warehouse_id, quantity
  from p
 where quantity > 0
), ledger as (
insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity,
       quantity_before, quantity_after, api_key_id)
select tenant_id, id, warehouse_id, 'set', quantity, 0, quantity, $2::bigint
  from p
 where quantity > 0
)
select id, sku, warehouse_id, quantity
  from p

-- upsert
insert into products (tenant_id, id, search,
       sku, name, description, price,
       msrp, cost, status, condition,
       quantity, reorder_point, category_id, seller_id,
       warehouse_id, bin_location, upc, tags,
       images)
overriding system value
select $1, r.id, r.search,
       r.sku, r.name, r.description, r.price,
       r.msrp, r.cost, r.status, r.condition,
       r.quantity, r.reorder_point, r.category_id, r.seller_id,
       r.warehouse_id, r.bin_location, r.upc, r.tags,
       r.images
  from jsonb_to_recordset($2) as r (id bigint, search text,
       sku text, name text, description text, price bigint,
       msrp bigint, cost bigint, status text, condition text,
       quantity integer, reorder_point integer, category_id bigint, seller_id bigint,
       warehouse_id bigint, bin_location text, upc text, tags text[],
       images jsonb)
    on conflict (tenant_id, id) do update
   set search = excluded.search, updated_at = clock_timestamp(), changed_at = clock_timestamp(),
       sku = excluded.sku, name = excluded.name, description = excluded.description, price = excluded.price,
       msrp = excluded.msrp, cost = excluded.cost, status = excluded.status, condition = excluded.condition,
       quantity = excluded.quantity, reorder_point = excluded.reorder_point, category_id = excluded.category_id, seller_id = excluded.seller_id,
       warehouse_id = excluded.warehouse_id, bin_location = excluded.bin_location, upc = excluded.upc, tags = excluded.tags,
       images = excluded.images

-- adjust_add
with updated as (
update products
   set quantity = quantity + $3::bigint, updated_at = clock_timestamp()
 where tenant_id = $1 and id = $2
   and quantity + $3::bigint between 0 and 2147483647
returning id, quantity, coalesce($4::bigint, warehouse_id) as warehouse_id,
       (select set_config('app.recorded', statement_timestamp()::text, true)
       || set_config('app.never_refused', 'on', true))
), stocked as (
insert into stock (tenant_id, product_id, warehouse_id, quantity)
select $1, id, warehouse_id, $3
  from updated
on conflict (tenant_id, product_id, warehouse_id) do update
   set quantity = stock.quantity + excluded.quantity
), recorded as (
insert into changes (tenant_id, epoch, action, types, changed, ids)
select $1, feed_epoch($1), 'updated', '{product,stock}', '{quantity,updated_at}', array[id::text]
  from updated
), entry as (
insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity,
       quantity_before, quantity_after, notes, api_key_id, member)
select $1, id, warehouse_id, case when $3 > 0 then 'add' else 'remove' end, abs($3::bigint),
       quantity - $3::bigint, quantity, $5, $6, $7
  from updated
returning *
)
select a.id, a.type, a.quantity, a.warehouse_id, a.quantity_before, a.quantity_after, a.notes,
       a.order_number, a.reason, a.api_key_id, a.created_at, a.member,
       null as api_key_name
  from entry a

-- adjust_remove
with locked as materialized (
select id, coalesce($4::bigint, warehouse_id) as warehouse_id
  from products
 where tenant_id = $1 and id = $2
   and quantity + $3::bigint between 0 and 2147483647
   for update
), stocked as (
update stock
   set quantity = stock.quantity + $3::bigint
  from locked
 where stock.tenant_id = $1 and stock.product_id = locked.id
   and stock.warehouse_id = locked.warehouse_id
   and stock.quantity + $3::bigint >= 0
returning stock.product_id, stock.warehouse_id
), updated as (
update products
   set quantity = products.quantity + $3::bigint, updated_at = clock_timestamp()
  from stocked
 where products.tenant_id = $1 and products.id = stocked.product_id
returning products.id, products.quantity, stocked.warehouse_id,
       (select set_config('app.recorded', statement_timestamp()::text, true)
       || set_config('app.never_refused', 'on', true))
), recorded as (
insert into changes (tenant_id, epoch, action, types, changed, ids)
select $1, feed_epoch($1), 'updated', '{product,stock}', '{quantity,updated_at}', array[id::text]
  from updated
), entry as (
insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity,
       quantity_before, quantity_after, notes, api_key_id, member)
select $1, id, warehouse_id, case when $3 > 0 then 'add' else 'remove' end, abs($3::bigint),
       quantity - $3::bigint, quantity, $5, $6, $7
  from updated
returning *
)
select a.id, a.type, a.quantity, a.warehouse_id, a.quantity_before, a.quantity_after, a.notes,
       a.order_number, a.reason, a.api_key_id, a.created_at, a.member,
       null as api_key_name
  from entry a

-- adjust_set
select exists (select from products where tenant_id = $1 and sku = $2 and id <> $3) as sku_taken,
       exists (select from categories where tenant_id = $1 and id = $4) as category_exists,
       exists (select from sellers where tenant_id = $1 and id = $5) as seller_exists,
       exists (select from warehouses where tenant_id = $1 and id = $6) as warehouse_exists,
       coalesce((select id from warehouses where tenant_id = $1 and is_default), 0) as default_warehouse

-- adjust_set
update products
   set quantity = $3, updated_at = clock_timestamp()
 where tenant_id = $1 and id = $2

-- delete
delete from products where tenant_id = $1 and id = $2

-- order_stock
select p.id, p.warehouse_id, p.quantity
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select id, warehouse_id, quantity
         from products
        where tenant_id = $1 and id = i.id
        limit 1
          for no key update
       ) p

-- order_stock
select s.product_id, s.warehouse_id, s.quantity
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select product_id, warehouse_id, quantity
         from stock
        where tenant_id = $1 and product_id = i.id
       offset 0
       ) s

-- order_stock
select w.id
  from unnest($2::bigint[]) i (id)
 cross join lateral (
       select id from warehouses where tenant_id = $1 and id = i.id limit 1 for key share
       ) w

-- order_stock
insert into products (tenant_id, id, warehouse_id, price, quantity, sku, name, status, condition, search)
overriding system value
select $1, p.id, p.warehouse_id, p.price, u.quantity, p.sku, p.name, p.status, p.condition, p.search
  from unnest($2::bigint[], $3::int[]) u (id, quantity)
 cross join lateral (select * from products where tenant_id = $1 and id = u.id limit 1) p
    on conflict (tenant_id, id) do update
   set quantity = excluded.quantity, updated_at = clock_timestamp()
