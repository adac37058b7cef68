-- Refunds name items, and the sums have what was returned: refunded revenue, units and their cost.
--
-- Instances of the earlier version store refunds and cancellations without these sums. Triggers add what is missing in
-- the same transaction, so that the sums stay exact while both versions run: tax of such a refund is null, and net of
-- such a cancellation is false. Their rollups have the rows that the transaction changes anyway.

-- Requests that wait behind these locks fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '250ms', true); -- each of six locks
    for retries in reverse 20..0 loop
        begin
            lock table refunds, refund_items, cancellations, sales_rollups, packed_sums, monthly_sums
                in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

alter table refunds
    add tax bigint,
    add shipping bigint,
    add restock boolean not null default false,
    add named boolean not null default false;
alter table refunds add constraint refunds_parts_check
    check (least(tax, shipping) >= 0 and tax + shipping <= amount) not valid;
comment on column refunds.tax is 'The part of the amount that is tax. shipping is that of shipping, and the rest is revenue.';
comment on column refunds.restock is 'Whether the returned units were for sale again, so that their cost was returned too.';
comment on column refunds.named is 'Whether the refund names the items that the amount is for.';

alter table refund_items drop constraint refund_items_amount_check;
alter table refund_items
    add revenue bigint not null default 0,
    add units integer not null default 0;
alter table refund_items add constraint refund_items_check
    check (least(amount, revenue, units) >= 0) not valid;
comment on table refund_items is 'Shares of a refund by item of the order: of the amount and of its revenue, and the units that were returned.';

alter table cancellations add net boolean not null default false;
comment on column cancellations.net is 'Whether the transaction subtracted all sums of the refunds of the order. Instances of earlier versions do not know those of returns; a trigger subtracts them.';

alter table sales_rollups
    add refunded_revenue bigint not null default 0,
    add refunded_revenue_without_cost bigint not null default 0,
    add units_returned bigint not null default 0,
    add returned_cost bigint not null default 0;
alter table monthly_sums
    add refunded_revenue bigint not null default 0,
    add refunded_revenue_without_cost bigint not null default 0,
    add units_returned bigint not null default 0,
    add returned_cost bigint not null default 0;
alter table packed_sums
    add refunded_revenue bytea not null default '',
    add refunded_revenue_without_cost bytea not null default '',
    add units_returned bytea not null default '',
    add returned_cost bytea not null default '';
comment on table packed_sums is 'Copies of the sums by product of sales_rollups. Each column has the values of up to 16,384 sold products as 8 bytes each, in the order of sold_ids, which are block * 16384 and above. A column of returns is empty if all of its values are zero. A row that unpacked_sums has too is out of date.';

-- PostgreSQL checks the bodies of functions as queries.
set local row_security = on;

-- local_day is tenancy.DayOf: a day begins at its first midnight, also if a clock change repeats it.
create function local_day(at timestamptz, zone text) returns date
    language sql stable as $$
    select d.day + case when exists (
               select from unnest('{30 minutes,1 hour,2 hours}'::interval[]) i (change)
                where ((d.day + 1)::timestamp at time zone zone) - i.change <= at
                  and (((d.day + 1)::timestamp at time zone zone) - i.change) at time zone zone = (d.day + 1)::timestamp)
           then 1 else 0 end
      from (values ((at at time zone zone)::date)) d (day)
$$;
revoke execute on function local_day from public;

-- fill_refunds divides refunds of the earlier version: their amounts in proportion to the revenue, the tax and the
-- shipping of the order, the revenue over the items by value, as sales.spread does. What exceeds the amount paid is
-- revenue. They returned exactly what they returned to stock.
create function fill_refunds(of_tenant bigint, refund_ids bigint[]) returns void
    language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
    entry record;
begin
    update refunds r
       set tax = p.tax, shipping = p.shipping,
           restock = r.content not in (
               sha256(convert_to(r.amount::text, 'UTF8')),
               sha256(convert_to(r.amount || ' ' || (extract(epoch from r.refunded_at) * 1000000)::bigint, 'UTF8')))
      from (
           select s.id, sum(s.share) filter (where s.part = 2) as tax, sum(s.share) filter (where s.part = 3) as shipping
             from (
                  select w.id, w.part,
                         div(w.amount * w.weight, w.total)
                         + case when row_number() over (partition by w.id order by mod(w.amount * w.weight, w.total) desc, w.part)
                                     <= w.amount - sum(div(w.amount * w.weight, w.total)) over (partition by w.id)
                                then 1 else 0 end as share
                    from (
                         select i.id, least(f.amount, o.revenue + o.tax + o.shipping)::numeric as amount, part, weight,
                                greatest(o.revenue + o.tax + o.shipping, 1)::numeric as total
                           from unnest(refund_ids) i (id)
                          cross join lateral (
                                select * from refunds where tenant_id = of_tenant and id = i.id limit 1) f
                          cross join lateral (
                                select * from orders where tenant_id = of_tenant and id = f.order_id limit 1) o
                          cross join lateral (
                                values (1, o.revenue), (2, o.tax), (3, o.shipping)) parts (part, weight)
                         ) w
                  ) s
            group by s.id
           ) p
     where r.tenant_id = of_tenant and r.id = p.id;

    insert into refund_items (tenant_id, refund_id, order_id, line, amount, revenue)
    select of_tenant, s.id, s.order_id, s.line, 0, s.share
      from (
           select w.id, w.order_id, w.line,
                  div(w.revenue * w.weight, w.total)
                  + case when row_number() over (partition by w.id order by mod(w.revenue * w.weight, w.total) desc, w.line)
                              <= w.revenue - sum(div(w.revenue * w.weight, w.total)) over (partition by w.id)
                         then 1 else 0 end as share
             from (
                  select n.*, case when n.net > 0 then n.of_line else n.quantity end as weight,
                         case when n.net > 0 then n.net else n.units end::numeric as total
                    from (
                         select f.id, f.order_id, l.line, (f.amount - f.tax - f.shipping)::numeric as revenue, l.quantity,
                                l.quantity * l.unit_price - l.discount as of_line,
                                sum(l.quantity * l.unit_price - l.discount) over of_refund as net,
                                sum(l.quantity) over of_refund as units
                           from unnest(refund_ids) i (id)
                          cross join lateral (
                                select * from refunds where tenant_id = of_tenant and id = i.id limit 1) f
                          cross join lateral (
                                select * from order_items where tenant_id = of_tenant and order_id = f.order_id offset 0) l
                         window of_refund as (partition by f.id)
                         ) n
                  ) w
           ) s
     where s.share > 0
        on conflict (tenant_id, refund_id, line) do update set revenue = excluded.revenue;

    -- What a refund returned is in the ledger after it, because its transaction began with now(), and by line in
    -- taken_stock. No transaction takes ten minutes. An archive has no ledger. offset 0 makes the index by time the only
    -- one that fits: a product can have many changes.
    for entry in
        select f.id, f.order_id, e.product_id, e.quantity
          from (
               select distinct o.id, o.number
                 from unnest(refund_ids) i (id)
                cross join lateral (
                      select order_id from refunds where tenant_id = of_tenant and id = i.id and restock limit 1) r
                cross join lateral (
                      select id, number from orders where tenant_id = of_tenant and id = r.order_id limit 1) o
               ) o
         cross join lateral (
               select distinct product_id, archived from taken_stock where tenant_id = of_tenant and order_id = o.id) t
         cross join lateral (
               select distinct a.product_id, a.created_at, a.id, a.quantity
                 from (
                      select created_at
                        from refunds
                       where tenant_id = of_tenant and order_id = o.id and restock and not t.archived
                      offset 0
                      ) r
                cross join lateral (
                      select *
                        from inventory_adjustments
                       where tenant_id = of_tenant
                         and created_at >= r.created_at and created_at < r.created_at + interval '10 minutes'
                      offset 0
                      ) a
                where a.product_id = t.product_id and a.order_number = o.number and a.reason = 'refund' and a.type = 'add'
                union all
               select t.product_id, 'infinity', 0, sum(returned)
                 from taken_stock
                where t.archived and tenant_id = of_tenant and order_id = o.id and product_id = t.product_id
               having sum(returned) > 0
               ) e
         cross join lateral (
               select id, order_id
                 from refunds
                where tenant_id = of_tenant and order_id = o.id and restock and created_at <= e.created_at
                order by id desc
                limit 1
               ) f
         where f.id = any (refund_ids)
         order by f.id, e.id
    loop
        insert into refund_items as i (tenant_id, refund_id, order_id, line, amount, units)
        select of_tenant, entry.id, entry.order_id, n.line, 0, n.units
          from (
               select s.line, least(s.free, entry.quantity - (sum(s.free) over (order by s.line) - s.free)) as units
                 from (
                      select t.line, t.returned - (
                             select coalesce(sum(units), 0)
                               from refund_items
                              where tenant_id = of_tenant and order_id = t.order_id and line = t.line) as free
                        from taken_stock t
                       where t.tenant_id = of_tenant and t.order_id = entry.order_id
                         and t.product_id = entry.product_id
                      ) s
               ) n
         where n.units > 0
            on conflict (tenant_id, refund_id, line) do update set units = i.units + excluded.units;
    end loop;
end $$;
revoke execute on function fill_refunds from public;

-- refund_sums returns the sums of returns of refunds by row of the rollups. refund_count is that of refunds in groups
-- that only returned units, which the earlier version does not know when it stores a refund. The day is computed once
-- for each refund, because that takes long.
create function refund_sums(of_tenant bigint, refund_ids bigint[])
    returns table (kind integer, day date, channel text, key bigint, refund_count bigint, refunded_revenue bigint,
                   refunded_revenue_without_cost bigint, units_returned bigint, returned_cost bigint)
    language sql stable set search_path = pg_catalog, public, pg_temp as $$
    select k.kind, k.day, k.channel, k.key,
           count(distinct s.refund_id) - count(distinct s.refund_id) filter (where s.amount > 0), sum(s.revenue),
           sum(case when s.unit_cost is null then s.revenue else 0 end), sum(s.units), sum(s.cost)
      from (
           select d.day, d.month, f.id as refund_id, o.channel, l.sold_id, l.unit_cost, i.amount, i.revenue, i.units,
                  case when f.restock then i.units * coalesce(l.unit_cost, 0) else 0 end as cost,
                  coalesce(p.category_id, 0) as category_id, coalesce(p.seller_id, 0) as seller_id
             from unnest(refund_ids) u (id)
            cross join lateral (select timezone from sales_zones where tenant_id = of_tenant limit 1) z
            cross join lateral (select * from refunds where tenant_id = of_tenant and id = u.id limit 1) f
            cross join lateral (select local_day(f.refunded_at, z.timezone) as day offset 0) t
            cross join lateral (select t.day, date_trunc('month', t.day::timestamp)::date as month offset 0) d
            cross join lateral (select channel from orders where tenant_id = of_tenant and id = f.order_id limit 1) o
            cross join lateral (select * from refund_items where tenant_id = of_tenant and refund_id = f.id offset 0) i
            cross join lateral (
                  select sold_id, unit_cost
                    from order_items
                   where tenant_id = of_tenant and order_id = i.order_id and line = i.line
                   limit 1) l
            cross join lateral (
                  select category_id, seller_id from sold_products where tenant_id = of_tenant and id = l.sold_id limit 1) p
           offset 0) s
     cross join lateral (
           values (1, s.day, s.channel, 0::bigint), (2, s.day, s.channel, s.category_id),
                  (3, s.day, s.channel, s.seller_id), (4, s.month, '', s.sold_id)
           ) k (kind, day, channel, key)
     group by k.kind, k.day, k.channel, k.key
$$;
revoke execute on function refund_sums from public;

-- add_refunds adds the sums of returns of refunds to the rollups, or subtracts them if factor is -1, with the counts of
-- refund_sums if counts is true.
create function add_refunds(of_tenant bigint, refund_ids bigint[], factor integer, counts boolean) returns void
    language sql set search_path = pg_catalog, public, pg_temp as $$
    insert into sales_rollups as r (
           tenant_id, kind, day, channel, key, orders, items, units, units_without_cost, revenue, discounts, tax, cost,
           refund_count, refunds, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost)
    select of_tenant, s.kind, s.day, s.channel, s.key, 0, 0, 0, 0, 0, 0, 0, 0,
           case when counts then s.refund_count else 0 end, 0, factor * s.refunded_revenue,
           factor * s.refunded_revenue_without_cost, factor * s.units_returned, factor * s.returned_cost
      from refund_sums(of_tenant, refund_ids) s
     order by s.kind, s.day, s.channel collate "C", s.key
        on conflict (tenant_id, kind, day, channel, key) do update
       set refund_count = r.refund_count + excluded.refund_count,
           refunded_revenue = r.refunded_revenue + excluded.refunded_revenue,
           refunded_revenue_without_cost = r.refunded_revenue_without_cost + excluded.refunded_revenue_without_cost,
           units_returned = r.units_returned + excluded.units_returned,
           returned_cost = r.returned_cost + excluded.returned_cost
$$;
revoke execute on function add_refunds from public;

-- count_returns completes what an instance of the earlier version stores.
create function count_returns() returns trigger
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    changed record;
begin
    if tg_table_name = 'refund_items' then
        for changed in
            select n.tenant_id, array_agg(n.refund_id) as ids
              from (select distinct tenant_id, refund_id from new_rows) n
             cross join lateral (
                   select tax from refunds where tenant_id = n.tenant_id and id = n.refund_id limit 1) r
             where r.tax is null
             group by n.tenant_id
        loop
            perform fill_refunds(changed.tenant_id, changed.ids);
            perform add_refunds(changed.tenant_id, array(
                select r.id
                  from unnest(changed.ids) i (id)
                 cross join lateral (
                       select id, order_id from refunds where tenant_id = changed.tenant_id and id = i.id limit 1) r
                 where (
                       select order_id from cancellations where tenant_id = changed.tenant_id and order_id = r.order_id
                       ) is null), 1, true);
        end loop;
    else
        for changed in
            select n.tenant_id, array_agg(r.id) as ids
              from new_rows n
             cross join lateral ( -- waits for a transaction that fills the refunds
                   select id from refunds where tenant_id = n.tenant_id and order_id = n.order_id for no key update) r
             where not n.net
             group by n.tenant_id
        loop
            perform add_refunds(changed.tenant_id, changed.ids, -1, false);
        end loop;
    end if;
    return null;
end $$;
revoke execute on function count_returns from public;
create trigger count_returns after insert on refund_items
    referencing new table as new_rows for each statement execute function count_returns();
create trigger count_returns after insert on cancellations
    referencing new table as new_rows for each statement execute function count_returns();

-- remove_sales deletes facts and customers that a plan created. The earlier version calls remove_facts, whose rollups
-- lack the sums of returns.
create function remove_sales(
    of_plan bigint, order_ids bigint[], refund_ids bigint[], cancellation_ids bigint[], customer_ids bigint[]
) returns void
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    of_tenant bigint := nullif(current_setting('app.tenant_id', true), '');
    orders_deleted integer;
    refunds_deleted integer;
    cancellations_deleted integer;
    customers_deleted integer;
begin
    if not exists (
        select from change_plans p where p.tenant_id = of_tenant and p.id = of_plan and p.state = 'undoing') then
        raise exception 'no plan % is being undone', of_plan using errcode = 'insufficient_privilege';
    end if;
    order_ids := coalesce(order_ids, '{}');
    refund_ids := coalesce(refund_ids, '{}');
    cancellation_ids := coalesce(cancellation_ids, '{}');
    customer_ids := coalesce(customer_ids, '{}');
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'orders' and f.id = any (order_ids);
    get diagnostics orders_deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'refunds' and f.id = any (refund_ids);
    get diagnostics refunds_deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'cancellations' and f.id = any (cancellation_ids);
    get diagnostics cancellations_deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'customers' and f.id = any (customer_ids);
    get diagnostics customers_deleted = row_count;
    if orders_deleted <> cardinality(order_ids)
       or refunds_deleted <> cardinality(refund_ids)
       or cancellations_deleted <> cardinality(cancellation_ids)
       or customers_deleted <> cardinality(customer_ids)
       or exists (select from refunds r
                   where r.tenant_id = of_tenant and r.order_id = any (order_ids) and r.id <> all (refund_ids))
       or exists (select from cancellations c
                   where c.tenant_id = of_tenant and c.order_id = any (order_ids)
                     and c.order_id <> all (cancellation_ids)) then
        raise exception 'plan % did not create all of the rows', of_plan using errcode = 'insufficient_privilege';
    end if;
    insert into unpacked_customers (tenant_id, day)
    select of_tenant, (o.placed_at at time zone 'UTC')::date
      from orders o
     where o.tenant_id = of_tenant and o.id = any (order_ids || cancellation_ids)
     union
    select of_tenant, (r.refunded_at at time zone 'UTC')::date
      from refunds r
     where r.tenant_id = of_tenant and r.id = any (refund_ids)
     union
    select of_tenant, (r.refunded_at at time zone 'UTC')::date
      from refunds r
     where r.tenant_id = of_tenant and r.order_id = any (cancellation_ids);
    delete from refunds r where r.tenant_id = of_tenant and r.id = any (refund_ids);
    delete from cancellations c where c.tenant_id = of_tenant and c.order_id = any (cancellation_ids);
    delete from orders o where o.tenant_id = of_tenant and o.id = any (order_ids);
    delete from customers c where c.tenant_id = of_tenant and c.id = any (customer_ids);
end $$;
revoke execute on function remove_sales from public;
grant execute on function remove_sales to storeroom_runtime;

create or replace function remove_facts(
    of_plan bigint, order_ids bigint[], refund_ids bigint[], cancellation_ids bigint[], customer_ids bigint[]
) returns void
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    of_tenant bigint := nullif(current_setting('app.tenant_id', true), '');
begin
    perform r.id
       from unnest(refund_ids || cancellation_ids) i (id)
      cross join lateral ( -- waits for a transaction that fills the refunds
            select id
              from refunds
             where tenant_id = of_tenant and (id = i.id or order_id = i.id)
               for no key update) r;
    perform add_refunds(of_tenant, array(
        select r.id
          from unnest(refund_ids) i (id)
         cross join lateral (select id, order_id from refunds where tenant_id = of_tenant and id = i.id limit 1) r
         where (select order_id from cancellations where tenant_id = of_tenant and order_id = r.order_id) is null), -1,
        false);
    perform add_refunds(of_tenant, array(
        select r.id
          from unnest(cancellation_ids) i (id)
         cross join lateral (select id from refunds where tenant_id = of_tenant and order_id = i.id offset 0) r
         where i.id <> all (coalesce(order_ids, '{}')) and r.id <> all (coalesce(refund_ids, '{}'))), 1, false);
    perform remove_sales(of_plan, order_ids, refund_ids, cancellation_ids, customer_ids);
end $$;

-- product_block returns the columns of a row of packed_sums. Instances of the earlier version call product_sums.
create function product_block(of_tenant bigint, of_month date, of_block int)
    returns table (sold_ids bytea, items bytea, units bytea, revenue bytea, cost bytea, revenue_without_cost bytea,
                   refunds bytea, refunded_revenue bytea, refunded_revenue_without_cost bytea, units_returned bytea,
                   returned_cost bytea)
    language sql stable as $$
    select coalesce(string_agg(int8send(r.key), ''), ''), coalesce(string_agg(int8send(r.items), ''), ''),
           coalesce(string_agg(int8send(r.units), ''), ''), coalesce(string_agg(int8send(r.revenue), ''), ''),
           coalesce(string_agg(int8send(r.cost), ''), ''), coalesce(string_agg(int8send(r.revenue_without_cost), ''), ''),
           coalesce(string_agg(int8send(r.refunds), ''), ''),
           case when bool_or(r.refunded_revenue <> 0) then string_agg(int8send(r.refunded_revenue), '') else '' end,
           case when bool_or(r.refunded_revenue_without_cost <> 0)
                then string_agg(int8send(r.refunded_revenue_without_cost), '') else '' end,
           case when bool_or(r.units_returned <> 0) then string_agg(int8send(r.units_returned), '') else '' end,
           case when bool_or(r.returned_cost <> 0) then string_agg(int8send(r.returned_cost), '') else '' end
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
revoke execute on function product_block from public;
grant execute on function product_block to storeroom_runtime;

create or replace function pack_product_sums(after_tenant bigint, max_rows integer)
    returns table (tenant bigint, changed integer)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    row record;
begin
    changed := 0;
    tenant := after_tenant;
    for visits in 1..100 loop
        tenant := next_tenant_with_work('pack_product_sums', tenant);
        exit when tenant is null;
        perform set_config('app.tenant_id', tenant::text, true);
        delete from tenants_with_work w
         where w.task = 'pack_product_sums'
           and w.tenant_id = tenant
           and not exists (select from unpacked_sums u where u.tenant_id = tenant);
        continue when found;
        continue when not pg_try_advisory_xact_lock(hashtextextended('packed sums of tenant ' || tenant, 0));
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
                            tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue,
                            refunded_revenue_without_cost, units_returned, returned_cost)
                    select tenant, r.kind, row.month, r.key, sum(r.orders), sum(r.items), sum(r.units),
                           sum(r.units_without_cost), sum(r.revenue), sum(r.discounts), sum(r.tax), sum(r.cost),
                           sum(r.refund_count), sum(r.refunds), sum(r.shipping), sum(r.revenue_without_cost),
                           sum(r.refunded_revenue), sum(r.refunded_revenue_without_cost), sum(r.units_returned),
                           sum(r.returned_cost)
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
                            refunds, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost)
                    select tenant, row.month, row.block, s.*
                      from product_block(tenant, row.month, row.block) s
                        on conflict (tenant_id, month, block) do update
                       set sold_ids = excluded.sold_ids, items = excluded.items, units = excluded.units,
                           revenue = excluded.revenue, cost = excluded.cost,
                           revenue_without_cost = excluded.revenue_without_cost, refunds = excluded.refunds,
                           refunded_revenue = excluded.refunded_revenue,
                           refunded_revenue_without_cost = excluded.refunded_revenue_without_cost,
                           units_returned = excluded.units_returned, returned_cost = excluded.returned_cost;
                end if;
                changed := changed + 1;
            exception when numeric_value_out_of_range then
                null; -- The mark stays, and reports of the month fail with the same error.
            end;
        end loop;
        with seen as (
            delete from tenants_with_work w where w.task = 'pack_product_sums' and w.tenant_id = tenant
        )
        insert into tenants_with_work (tenant_id, task)
        select tenant, 'pack_product_sums'
         where exists (select from unpacked_sums u where u.tenant_id = tenant);
        exit when changed > 0;
    end loop;
    perform set_config('app.tenant_id', before, true);
    if tenant is not null then
        return next;
    end if;
end $$;
