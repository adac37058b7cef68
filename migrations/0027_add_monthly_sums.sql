-- Reports by category and by seller read one row for each month instead of one for each day and channel.

-- A transaction that ran the earlier trigger must not commit after the months are marked below. Requests that wait
-- behind these locks fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '1500ms', true);
    for retries in reverse 20..0 loop
        begin
            lock table sales_rollups in share row exclusive mode;
            lock table packed_sums in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

-- A call of the earlier pack_product_sums that is still running must not delete the marks of months: it fails.
alter table packed_sums add check (block >= 0);

create table monthly_sums (
    tenant_id            bigint not null references tenants (id) on delete cascade,
    kind                 smallint not null,
    month                date not null,
    key                  bigint not null,
    orders               bigint not null,
    items                bigint not null,
    units                bigint not null,
    units_without_cost   bigint not null,
    revenue              bigint not null,
    discounts            bigint not null,
    tax                  bigint not null,
    cost                 bigint not null,
    refund_count         bigint not null,
    refunds              bigint not null,
    shipping             bigint not null,
    revenue_without_cost bigint not null,
    primary key (tenant_id, kind, month, key)
);
comment on table monthly_sums is 'Sums of sales_rollups of kind 2 and 3 over the days of a month and all channels. A month that unpacked_sums has with block -1 is out of date.';
comment on table unpacked_sums is 'Rows of packed_sums to pack again and, with block -1, months of monthly_sums to add up again. Each transaction that changes sums inserts its own rows, so that none waits for another; pack_product_sums deletes those that it sees.';
alter table monthly_sums alter tenant_id set statistics 0, alter month set statistics 0;
alter table monthly_sums enable row level security;
alter table monthly_sums force row level security;
create policy tenant on monthly_sums
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select on monthly_sums to storeroom_runtime;

create or replace function unpack_product_sums() returns trigger
    language plpgsql set search_path = pg_catalog, public, pg_temp set enable_sort = off as $$
begin
    insert into unpacked_sums (tenant_id, month, block)
    select distinct tenant_id, date_trunc('month', day::timestamp)::date,
           case kind when 4 then (key / 16384)::int else -1 end
      from changed_rows
     where kind > 1;
    return null;
end $$;

-- One statement deletes the mark of a month and reads the sums, like that of a row of packed_sums.
create or replace function pack_product_sums(after_tenant bigint, max_rows integer)
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
            begin
                if row.block = -1 then
                    delete from monthly_sums m
                     where m.tenant_id = tenant and m.kind in (2, 3) and m.month = row.month;
                    with unmarked as (
                        delete from unpacked_sums u
                         where u.tenant_id = tenant and u.month = row.month and u.block = -1
                    )
                    insert into monthly_sums
                           (tenant_id, kind, month, key, orders, items, units, units_without_cost, revenue, discounts,
                            tax, cost, refund_count, refunds, shipping, revenue_without_cost)
                    select tenant, r.kind, row.month, r.key, sum(r.orders), sum(r.items), sum(r.units),
                           sum(r.units_without_cost), sum(r.revenue), sum(r.discounts), sum(r.tax), sum(r.cost),
                           sum(r.refund_count), sum(r.refunds), sum(r.shipping), sum(r.revenue_without_cost)
                      from sales_rollups r
                     where r.tenant_id = tenant
                       and r.kind in (2, 3)
                       and r.day >= row.month
                       and r.day < (row.month + interval '1 month')::date
                     group by r.kind, r.key;
                else
                    with packed as (
                        delete from unpacked_sums u
                         where u.tenant_id = tenant and u.month = row.month and u.block = row.block
                    )
                    insert into packed_sums
                           (tenant_id, month, block, sold_ids, items, units, revenue, cost, revenue_without_cost,
                            refunds)
                    select tenant, row.month, row.block, s.*
                      from product_sums(tenant, row.month, row.block) s
                        on conflict (tenant_id, month, block) do update
                       set sold_ids = excluded.sold_ids, items = excluded.items, units = excluded.units,
                           revenue = excluded.revenue, cost = excluded.cost,
                           revenue_without_cost = excluded.revenue_without_cost, refunds = excluded.refunds;
                end if;
                changed := changed + 1;
            exception when numeric_value_out_of_range then
                null; -- The mark stays, and reports of the month fail with the same error.
            end;
        end loop;
        return next;
        exit;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;

set local row_security = on;

do $$
declare
    tenant bigint;
begin
    for tenant in select id from tenants loop
        perform set_config('app.tenant_id', tenant::text, true);
        insert into unpacked_sums (tenant_id, month, block)
        select tenant, generate_series(date_trunc('month', min(day)::timestamp), max(day), '1 month')::date, -1
          from sales_rollups
         where tenant_id = tenant and kind = 4;
    end loop;
    perform set_config('app.tenant_id', '', true);
end $$;
