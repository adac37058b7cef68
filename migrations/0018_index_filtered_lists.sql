-- A list with one filter reads its page in the order of an index and its total from counters.

-- Writers lock products before product_tags, so this does too.
lock table products in share row exclusive mode;

alter table product_tags
    add status text collate "C" not null default '',
    add name   text collate "C" not null default '',
    add sku    text collate "C" not null default '',
    add price  bigint not null default 0;
comment on table product_tags is 'Tags of products, for filters. Triggers on products write it. The other columns are those of the product, so that indexes return the products of a tag in each order.';

create table facet_counts (
    tenant_id bigint not null references tenants (id) on delete cascade,
    facet     text collate "C" not null check (facet in ('category', 'seller', 'warehouse', 'tag')),
    value     text collate "C" not null,
    status    text collate "C" not null,
    slot      smallint not null,
    count     bigint not null,
    primary key (tenant_id, facet, value, status, slot)
) with (fillfactor = 50);
comment on table facet_counts is 'Number of products of a tenant by status and one more column: value is the id of the category, seller or warehouse, or the tag. Slots are those of product_counts.';
alter table facet_counts alter tenant_id set statistics 0;
alter table facet_counts enable row level security, force row level security;
create policy tenant on facet_counts
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, update, delete on facet_counts to storeroom_runtime;

-- facets returns the values by which facet_counts counts a product.
create function facets(category_id bigint, seller_id bigint, warehouse_id bigint, tags text[])
    returns table (facet text, value text)
    language sql immutable as $$
    select facet, value
      from (values ('category', category_id::text), ('seller', seller_id::text), ('warehouse', warehouse_id::text)) f (facet, value)
     where value is not null
     union all
    select 'tag', tag from unnest(tags) tag
$$;
revoke execute on function facets from public;
grant execute on function facets to storeroom_runtime;

-- A transaction locks its tenant's slot before it writes counts. Two transactions with the same slot
-- would deadlock if each waited for a count that the other has written.
create or replace function count_products() returns trigger
    language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
    backend_slot smallint := pg_backend_pid() % 64;
begin
    if tg_op = 'INSERT' then
        perform pg_advisory_xact_lock(hashint8extended(tenant_id, backend_slot)) from new_rows limit 1;
        insert into product_counts as c (tenant_id, slot, status, count)
        select tenant_id, backend_slot, status, count(*) from new_rows group by 1, 3
        on conflict (tenant_id, slot, status) do update set count = c.count + excluded.count;
        insert into facet_counts as c (tenant_id, facet, value, status, slot, count)
        select n.tenant_id, f.facet, f.value, n.status, backend_slot, count(*)
          from new_rows n
         cross join lateral facets(n.category_id, n.seller_id, n.warehouse_id, n.tags) f
         group by 1, 2, 3, 4
        on conflict (tenant_id, facet, value, status, slot) do update set count = c.count + excluded.count;
    elsif tg_op = 'DELETE' then
        perform pg_advisory_xact_lock(hashint8extended(tenant_id, backend_slot)) from old_rows limit 1;
        insert into product_counts as c (tenant_id, slot, status, count)
        select tenant_id, backend_slot, status, -count(*) from old_rows group by 1, 3
        on conflict (tenant_id, slot, status) do update set count = c.count + excluded.count;
        insert into facet_counts as c (tenant_id, facet, value, status, slot, count)
        select o.tenant_id, f.facet, f.value, o.status, backend_slot, -count(*)
          from old_rows o
         cross join lateral facets(o.category_id, o.seller_id, o.warehouse_id, o.tags) f
         group by 1, 2, 3, 4
        on conflict (tenant_id, facet, value, status, slot) do update set count = c.count + excluded.count;
    else
        perform pg_advisory_xact_lock(hashint8extended(new.tenant_id, backend_slot));
        if old.status <> new.status then
            insert into product_counts as c (tenant_id, slot, status, count)
            values (new.tenant_id, backend_slot, old.status, -1), (new.tenant_id, backend_slot, new.status, 1)
            on conflict (tenant_id, slot, status) do update set count = c.count + excluded.count;
        end if;
        insert into facet_counts as c (tenant_id, facet, value, status, slot, count)
        select new.tenant_id, f.facet, f.value, f.status, backend_slot, sum(f.count)
          from (
               select facet, value, old.status as status, -1 as count
                 from facets(old.category_id, old.seller_id, old.warehouse_id, old.tags)
                union all
               select facet, value, new.status, 1
                 from facets(new.category_id, new.seller_id, new.warehouse_id, new.tags)
               ) f
         group by 2, 3, 4
        having sum(f.count) <> 0
        on conflict (tenant_id, facet, value, status, slot) do update set count = c.count + excluded.count;
    end if;
    return null;
end $$;

create function tag_products() returns trigger
    language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    if tg_op = 'INSERT' then
        insert into product_tags (tenant_id, tag, created_at, product_id, status, name, sku, price)
        select tenant_id, unnest(tags), created_at, id, status, name, sku, price
          from new_rows
        on conflict (tenant_id, tag, product_id) do update
           set status = excluded.status, name = excluded.name, sku = excluded.sku, price = excluded.price;
    elsif old.tags = new.tags then
        update product_tags
           set status = new.status, name = new.name, sku = new.sku, price = new.price
         where tenant_id = new.tenant_id and product_id = new.id;
    else
        delete from product_tags
         where tenant_id = new.tenant_id and product_id = new.id and tag <> all (new.tags);
        insert into product_tags (tenant_id, tag, created_at, product_id, status, name, sku, price)
        select new.tenant_id, unnest(new.tags), new.created_at, new.id, new.status, new.name, new.sku, new.price
        on conflict (tenant_id, tag, product_id) do update
           set status = excluded.status, name = excluded.name, sku = excluded.sku, price = excluded.price;
    end if;
    return null;
end $$;
revoke execute on function tag_products from public;

drop trigger count_updates on products;
create trigger count_updates after update of status, category_id, seller_id, warehouse_id, tags on products
    for each row when ((old.status, old.category_id, old.seller_id, old.warehouse_id, old.tags)
                       is distinct from (new.status, new.category_id, new.seller_id, new.warehouse_id, new.tags))
    execute function count_products();
create trigger tag_inserts after insert on products referencing new table as new_rows
    for each statement execute function tag_products();
create trigger tag_updates after update of status, name, sku, price, tags on products
    for each row when ((old.tags <> '{}' or new.tags <> '{}')
                       and (old.status, old.name, old.sku, old.price, old.tags)
                           is distinct from (new.status, new.name, new.sku, new.price, new.tags))
    execute function tag_products();

set local row_security = on;

do $$
declare
    tenant bigint;
begin
    for tenant in select id from tenants loop
        perform set_config('app.tenant_id', tenant::text, true);
        update product_tags t
           set status = p.status, name = p.name, sku = p.sku, price = p.price
          from products p
         where t.tenant_id = tenant and p.tenant_id = tenant and p.id = t.product_id;
        insert into facet_counts (tenant_id, facet, value, status, slot, count)
        select tenant, f.facet, f.value, p.status, 0, count(*)
          from products p
         cross join lateral facets(p.category_id, p.seller_id, p.warehouse_id, p.tags) f
         where p.tenant_id = tenant
         group by 2, 3, 4;
    end loop;
    perform set_config('app.tenant_id', '', true);
end $$;

drop index product_tags_created;
create index products_category_created on products (tenant_id, category_id, status, created_at, id) where category_id is not null;
create index products_category_name on products (tenant_id, category_id, status, name, id) where category_id is not null;
create index products_category_price on products (tenant_id, category_id, status, price, id) where category_id is not null;
create index products_category_sku on products (tenant_id, category_id, status, sku, id) where category_id is not null;
create index products_seller_created on products (tenant_id, seller_id, status, created_at, id) where seller_id is not null;
create index products_seller_name on products (tenant_id, seller_id, status, name, id) where seller_id is not null;
create index products_seller_price on products (tenant_id, seller_id, status, price, id) where seller_id is not null;
create index products_seller_sku on products (tenant_id, seller_id, status, sku, id) where seller_id is not null;
create index products_warehouse_created on products (tenant_id, warehouse_id, status, created_at, id);
create index products_warehouse_name on products (tenant_id, warehouse_id, status, name, id);
create index products_warehouse_price on products (tenant_id, warehouse_id, status, price, id);
create index products_warehouse_sku on products (tenant_id, warehouse_id, status, sku, id);
create index product_tags_created on product_tags (tenant_id, tag, status, created_at, product_id);
create index product_tags_name on product_tags (tenant_id, tag, status, name, product_id);
create index product_tags_price on product_tags (tenant_id, tag, status, price, product_id);
create index product_tags_sku on product_tags (tenant_id, tag, status, sku, product_id);
