-- Reports by product read packed sums: PostgreSQL needs a second to read and group a million rows of
-- sales_rollups, and Storeroom needs a thirtieth of it to add up the same numbers from arrays.

lock table sold_products in share row exclusive mode;

create index sold_products_first on sold_products (tenant_id, id) include (first_id) where first_id is not null;

-- The lock makes every transaction see the rows of those before it, so that all rows of a product have the
-- same first_id.
create function set_first_id() returns trigger
    language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    perform pg_advisory_xact_lock(hashtextextended('sold products of tenant ' || new.tenant_id, 0));
    if new.product_id is not null then
        select coalesce(s.first_id, s.id) into new.first_id
          from sold_products s
         where s.tenant_id = new.tenant_id and s.product_id = new.product_id
         limit 1;
    else
        select coalesce(s.first_id, s.id) into new.first_id
          from sold_products s
         where s.tenant_id = new.tenant_id and s.sku = new.sku and s.product_id is null
         limit 1;
    end if;
    return new;
end $$;
revoke execute on function set_first_id from public;
create trigger set_first_id before insert on sold_products for each row execute function set_first_id();

create table packed_sums (
    tenant_id            bigint not null references tenants (id) on delete cascade,
    month                date not null,
    block                int not null,
    sold_ids             bytea not null,
    items                bytea not null,
    units                bytea not null,
    revenue              bytea not null,
    cost                 bytea not null,
    revenue_without_cost bytea not null,
    refunds              bytea not null,
    primary key (tenant_id, month, block)
);
comment on table packed_sums is 'Copies of the sums by product of sales_rollups. Each column has the values of up to 16,384 sold products as 8 bytes each, in the order of sold_ids, which are block * 16384 and above. A row that unpacked_sums has too is out of date.';
-- The other two columns are mostly zeros, so they are compressed.
alter table packed_sums
    alter sold_ids set storage external, alter items set storage external, alter units set storage external,
    alter revenue set storage external, alter cost set storage external,
    alter tenant_id set statistics 0, alter month set statistics 0;
alter table packed_sums enable row level security;
alter table packed_sums force row level security;
create policy tenant on packed_sums
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select on packed_sums to storeroom_runtime;

create table unpacked_sums (
    tenant_id bigint not null references tenants (id) on delete cascade,
    month     date not null,
    block     int not null
);
comment on table unpacked_sums is 'Rows of packed_sums to pack again. Each transaction that changes sums inserts its own rows, so that none waits for another; pack_product_sums deletes those that it sees.';
create index unpacked_sums_month on unpacked_sums (tenant_id, month, block);
alter table unpacked_sums alter tenant_id set statistics 0, alter month set statistics 0;
alter table unpacked_sums enable row level security;
alter table unpacked_sums force row level security;
create policy tenant on unpacked_sums
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert on unpacked_sums to storeroom_runtime;

-- PostgreSQL checks the body of the function as a query.
set local row_security = on;

-- product_sums returns the columns of a row of packed_sums.
create function product_sums(of_tenant bigint, of_month date, of_block int)
    returns table (sold_ids bytea, items bytea, units bytea, revenue bytea, cost bytea,
                   revenue_without_cost bytea, refunds bytea)
    language sql stable as $$
    select coalesce(string_agg(int8send(r.key), ''), ''), coalesce(string_agg(int8send(r.items), ''), ''),
           coalesce(string_agg(int8send(r.units), ''), ''), coalesce(string_agg(int8send(r.revenue), ''), ''),
           coalesce(string_agg(int8send(r.cost), ''), ''), coalesce(string_agg(int8send(r.revenue_without_cost), ''), ''),
           coalesce(string_agg(int8send(r.refunds), ''), '')
      from (
           select *
             from sales_rollups
            where tenant_id = of_tenant
              and kind = 4
              and day = of_month
              and channel = ''
              and key >= of_block::bigint * 16384
              and key < (of_block + 1)::bigint * 16384
            order by key
           ) r
$$;
revoke execute on function product_sums from public;
grant execute on function product_sums to storeroom_runtime;

-- unpack_product_sums runs after each statement that inserts or updates rows of sales_rollups.
create function unpack_product_sums() returns trigger
    language plpgsql set search_path = pg_catalog, public, pg_temp set enable_sort = off as $$
begin
    insert into unpacked_sums (tenant_id, month, block)
    select distinct tenant_id, day, (key / 16384)::int
      from changed_rows
     where kind = 4;
    return null;
end $$;
revoke execute on function unpack_product_sums from public;
create trigger unpack_inserted after insert on sales_rollups referencing new table as changed_rows
    for each statement execute function unpack_product_sums();
create trigger unpack_updated after update on sales_rollups referencing new table as changed_rows
    for each statement execute function unpack_product_sums();

-- pack_product_sums packs up to max_rows rows of the next tenant that has rows to pack. One statement deletes a
-- row of unpacked_sums and reads the sums, so it sees both before or both after a concurrent change. The lock
-- prevents that an earlier snapshot overwrites a later one.
create function pack_product_sums(after_tenant bigint, max_rows integer)
    returns table (tenant bigint, changed integer)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    row record;
begin
    for tenant in select t.id from tenants t where t.id > after_tenant order by t.id loop
        perform set_config('app.tenant_id', tenant::text, true);
        continue when not exists (select from unpacked_sums u where u.tenant_id = tenant);
        continue when not pg_try_advisory_xact_lock(hashtextextended('packed sums of tenant ' || tenant, 0));
        changed := 0;
        for row in
            select distinct u.month, u.block
              from unpacked_sums u
             where u.tenant_id = tenant
             limit max_rows
        loop
            with packed as (
                delete from unpacked_sums u
                 where u.tenant_id = tenant and u.month = row.month and u.block = row.block
            )
            insert into packed_sums
                   (tenant_id, month, block, sold_ids, items, units, revenue, cost, revenue_without_cost, refunds)
            select tenant, row.month, row.block, s.*
              from product_sums(tenant, row.month, row.block) s
                on conflict (tenant_id, month, block) do update
               set sold_ids = excluded.sold_ids, items = excluded.items, units = excluded.units,
                   revenue = excluded.revenue, cost = excluded.cost,
                   revenue_without_cost = excluded.revenue_without_cost, refunds = excluded.refunds;
            changed := changed + 1;
        end loop;
        return next;
        exit;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;
revoke execute on function pack_product_sums from public;
grant execute on function pack_product_sums to storeroom_runtime;

do $$
declare
    tenant bigint;
begin
    for tenant in select id from tenants loop
        perform set_config('app.tenant_id', tenant::text, true);
        update sold_products s
           set first_id = f.first_id
          from (
               select id, min(id) over (partition by product_id, case when product_id is null then sku end) as first_id
                 from sold_products
                where tenant_id = tenant
               ) f
         where s.tenant_id = tenant and s.id = f.id and f.id <> f.first_id;
        insert into unpacked_sums (tenant_id, month, block)
        select distinct tenant, day, (key / 16384)::int
          from sales_rollups
         where tenant_id = tenant and kind = 4;
    end loop;
    perform set_config('app.tenant_id', '', true);
end $$;
