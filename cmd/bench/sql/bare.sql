-- Tables of the bare handlers that write, with the rows of the large tenant. They have no triggers, no foreign keys
-- and no row-level security. Those of the schema bare have only the indexes that these handlers need: the page in
-- order of creation, products by id and by SKU, tags, stock and ledger of a product. Those of the schema indexed have
-- the indexes of the service, which its lists need, but no texts of searches; finish.sql creates them, so it runs before
-- this file.

create schema bare;

create table bare.products (like products including defaults including identity);

insert into bare.products overriding system value
select *
  from products
 where tenant_id = (select id from tenants where slug = 'large');

select setval(pg_get_serial_sequence('bare.products', 'id'), max(id)) from products;

alter table bare.products
    add primary key (tenant_id, id),
    add unique (tenant_id, sku) include (id),
    set (fillfactor = 90);

create index on bare.products (tenant_id, created_at, id);

create table bare.product_tags as
select *
  from product_tags
 where product_id in (select id from bare.products);

alter table bare.product_tags add primary key (tenant_id, tag, product_id);

create table bare.stock (like stock including defaults) with (fillfactor = 80);

insert into bare.stock select * from stock where product_id in (select id from bare.products);

alter table bare.stock add primary key (tenant_id, product_id, warehouse_id);

create table bare.inventory_adjustments (like inventory_adjustments including defaults including identity);

insert into bare.inventory_adjustments overriding system value
select *
  from inventory_adjustments
 where product_id in (select id from bare.products);

select setval(pg_get_serial_sequence('bare.inventory_adjustments', 'id'), max(id)) from inventory_adjustments;

alter table bare.inventory_adjustments add primary key (tenant_id, id);

create index on bare.inventory_adjustments (tenant_id, product_id, id);

create table bare.changes (like changes including defaults);

alter table bare.changes add primary key (tenant_id, epoch, xid, seq);

create schema indexed;

create table indexed.changes (like bare.changes including all);

do $$
declare
	name text;
	definition text;
begin
	foreach name in array array['products', 'product_tags', 'stock', 'inventory_adjustments'] loop
		execute format('create table indexed.%1$I (like %1$I including defaults including identity)', name);
		execute format('insert into indexed.%1$I overriding system value select * from bare.%1$I', name);
		for definition in select indexdef from pg_indexes where schemaname = 'public' and tablename = name loop
			execute replace(definition, ' ON public.', ' ON indexed.');
		end loop;
	end loop;
	alter table indexed.products set (fillfactor = 90);
	alter table indexed.stock set (fillfactor = 80);
	perform setval(pg_get_serial_sequence('indexed.products', 'id'), max(id)) from products;
	perform setval(pg_get_serial_sequence('indexed.inventory_adjustments', 'id'), max(id)) from inventory_adjustments;
	-- Without its indexes a table of the schema indexed would be the same as one of the schema bare.
	if exists (
		select tablename from pg_indexes where schemaname in ('public', 'indexed')
		   and tablename in ('products', 'product_tags', 'stock', 'inventory_adjustments')
		 group by tablename
		having count(*) filter (where schemaname = 'public') <> count(*) filter (where schemaname = 'indexed')
	) or not exists (select from pg_indexes where schemaname = 'indexed' and indexname = 'products_created') then
		raise exception 'the tables of the schema indexed do not have the indexes of the service';
	end if;
end
$$;

grant usage on schema bare, indexed to storeroom_runtime;

grant select, insert, update, delete on all tables in schema bare, indexed to storeroom_runtime;

analyze bare.products, bare.product_tags, bare.stock, bare.inventory_adjustments;

analyze indexed.products, indexed.product_tags, indexed.stock, indexed.inventory_adjustments;
