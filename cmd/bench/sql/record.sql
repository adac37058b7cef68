-- Creates what only benchmarks read, and records the last generated ids for restore.sql.

set session_replication_role = origin;

create schema bench;

-- The bare handlers read lists of the large tenant from these tables, which have an index for each list.
create table bench.facets as
select p.tenant_id, case f.facet when 'tag' then f.facet else f.facet || '_id' end as facet, f.value, p.status, p.created_at, p.name, p.sku, p.price, p.id
  from products p
 cross join lateral facets(p.category_id, p.seller_id, p.warehouse_id, p.tags) f
 where p.tenant_id = (select id from tenants where slug = 'large');

do $$
declare
	key text;
begin
	foreach key in array array['created_at', 'name', 'sku', 'price'] loop
		execute 'create index on bench.facets (tenant_id, facet, value, ' || key || ', id)';
		execute 'create index on bench.facets (tenant_id, facet, value, status, ' || key || ', id)';
	end loop;
end
$$;

create table bench.texts as
select tenant_id, id, created_at, search as text
  from products
 where tenant_id = (select id from tenants where slug = 'large');

create index on bench.texts using gin (text gin_trgm_ops);

grant usage on schema bench to storeroom_runtime;

grant select on bench.facets, bench.texts to storeroom_runtime;

vacuum (analyze);

checkpoint;

create table bench.generated as
select @version::text as version,
       (select coalesce(max(id), 0) from products) as product,
       (select coalesce(max(id), 0) from inventory_adjustments) as adjustment,
       (select last_value from orders_id_seq) as "order",
       (select last_value from customers_id_seq) as customer,
       (select last_value from sold_products_id_seq) as sold;
