-- Tables of the bare handlers that write, with the rows of the large tenant. They have the indexes of the service,
-- which its lists need, but no texts of searches, no triggers, no foreign keys and no row-level security. finish.sql
-- creates the indexes, so it runs before this file.

create schema bare;

create table bare.changes (like changes including defaults);

alter table bare.changes add primary key (tenant_id, epoch, xid, seq);

do $$
declare
	name text;
	definition text;
begin
	foreach name in array array['products', 'product_tags', 'stock', 'inventory_adjustments'] loop
		execute format('create table bare.%1$I (like %1$I including defaults including identity)', name);
		execute format('insert into bare.%1$I overriding system value
			select * from %1$I where tenant_id = (select id from tenants where slug = ''large'')', name);
		for definition in select indexdef from pg_indexes where schemaname = 'public' and tablename = name loop
			execute replace(definition, ' ON public.', ' ON bare.');
		end loop;
	end loop;
	alter table bare.products set (fillfactor = 90);
	alter table bare.stock set (fillfactor = 80);
	perform setval(pg_get_serial_sequence('bare.products', 'id'), max(id)) from products;
	perform setval(pg_get_serial_sequence('bare.inventory_adjustments', 'id'), max(id)) from inventory_adjustments;
	-- Without these indexes the ratios of writes would mean something else.
	if exists (
		select tablename from pg_indexes where schemaname in ('public', 'bare')
		   and tablename in ('products', 'product_tags', 'stock', 'inventory_adjustments')
		 group by tablename
		having count(*) filter (where schemaname = 'public') <> count(*) filter (where schemaname = 'bare')
	) then
		raise exception 'the tables of the schema bare do not have the indexes of the service';
	end if;
end
$$;

grant usage on schema bare to storeroom_runtime;

grant select, insert, update, delete on all tables in schema bare to storeroom_runtime;

analyze bare.products, bare.product_tags, bare.stock, bare.inventory_adjustments;
