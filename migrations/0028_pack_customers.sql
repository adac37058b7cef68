-- The report by customer reads packed orders: PostgreSQL needs seconds to group a year of orders by customer, and
-- Storeroom needs milliseconds to add up the same numbers from arrays.

-- Requests that wait behind this lock fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '1500ms', true);
    for retries in reverse 20..0 loop
        begin
            lock table orders, cancellations, refunds in share row exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

create table packed_customers (
    tenant_id    bigint not null references tenants (id) on delete cascade,
    day          date not null,
    customer_ids bytea not null,
    revenue      bytea not null,
    placed_at    bytea not null,
    refunded_ids bytea not null,
    refunds      bytea not null,
    guests       bytea not null,
    primary key (tenant_id, day)
);
comment on table packed_customers is 'Copies of the orders and refunds of a day in UTC that are not cancelled. Columns have 8 bytes for each value: customer, revenue and placed_at of each order with a customer; customer and amount of each refund of such an order; the sums of guests in the order of sales_rollups. A row that unpacked_customers has too is out of date.';
alter table packed_customers
    alter customer_ids set storage external, alter revenue set storage external, alter placed_at set storage external,
    alter tenant_id set statistics 0, alter day set statistics 0;
alter table packed_customers enable row level security;
alter table packed_customers force row level security;
create policy tenant on packed_customers
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select on packed_customers to storeroom_runtime;

create table unpacked_customers (
    tenant_id bigint not null references tenants (id) on delete cascade,
    day       date not null
);
comment on table unpacked_customers is 'Rows of packed_customers to pack again. Each transaction that changes sales inserts its own rows, so that none waits for another; pack_customers deletes those that it sees.';
create index unpacked_customers_day on unpacked_customers (tenant_id, day);
alter table unpacked_customers alter tenant_id set statistics 0, alter day set statistics 0;
alter table unpacked_customers enable row level security;
alter table unpacked_customers force row level security;
create policy tenant on unpacked_customers
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert on unpacked_customers to storeroom_runtime;

-- PostgreSQL checks the body of the function as a query.
set local row_security = on;

-- customer_sales returns the columns of packed_customers for any time. Its subqueries read orders and refunds in the
-- order of an index, so that two results can be compared.
create function customer_sales(of_tenant bigint, begins timestamptz, ends timestamptz)
    returns table (customer_ids bytea, revenue bytea, placed_at bytea, refunded_ids bytea, refunds bytea, guests bytea)
    language sql stable as $$
    with sold as materialized (
        select o.*
          from orders o
         where o.tenant_id = of_tenant
           and o.placed_at >= begins
           and o.placed_at < ends
           and (select c.order_id from cancellations c where c.tenant_id = of_tenant and c.order_id = o.id) is null
         order by o.placed_at, o.id
    ), refunded as materialized (
        select r.amount, o.customer_id
          from refunds r
         cross join lateral (
               select customer_id from orders where tenant_id = of_tenant and id = r.order_id limit 1) o
         where r.tenant_id = of_tenant
           and r.refunded_at >= begins
           and r.refunded_at < ends
           and (select c.order_id from cancellations c where c.tenant_id = of_tenant and c.order_id = r.order_id) is null
         order by r.refunded_at, r.id
    )
    select o.customer_ids, o.revenue, o.placed_at, r.customer_ids, r.amounts,
           g.sums || gr.sums || g.shipping || g.revenue_without_cost
      from (
           select coalesce(string_agg(int8send(s.customer_id), ''), '') as customer_ids,
                  coalesce(string_agg(int8send(s.revenue), ''), '') as revenue,
                  coalesce(string_agg(timestamptz_send(s.placed_at), ''), '') as placed_at
             from sold s
            where s.customer_id is not null
           ) o
     cross join (
           select coalesce(string_agg(int8send(s.customer_id), ''), '') as customer_ids,
                  coalesce(string_agg(int8send(s.amount), ''), '') as amounts
             from refunded s
            where s.customer_id is not null
           ) r
     cross join (
           select int8send(count(*)) || int8send(coalesce(sum(s.items), 0)::bigint)
                  || int8send(coalesce(sum(s.units), 0)::bigint)
                  || int8send(coalesce(sum(s.units_without_cost), 0)::bigint)
                  || int8send(coalesce(sum(s.revenue), 0)::bigint) || int8send(coalesce(sum(s.discounts), 0)::bigint)
                  || int8send(coalesce(sum(s.tax), 0)::bigint) || int8send(coalesce(sum(s.cost), 0)::bigint) as sums,
                  int8send(coalesce(sum(s.shipping), 0)::bigint) as shipping,
                  int8send(coalesce(sum(s.revenue_without_cost), 0)::bigint) as revenue_without_cost
             from sold s
            where s.customer_id is null
           ) g
     cross join (
           select int8send(count(*)) || int8send(coalesce(sum(s.amount), 0)::bigint) as sums
             from refunded s
            where s.customer_id is null
           ) gr
$$;
revoke execute on function customer_sales from public;
grant execute on function customer_sales to storeroom_runtime;

-- unpack_customers runs after each statement that inserts orders, refunds or cancellations. A cancellation changes the
-- day of the order and the days of its refunds.
create function unpack_customers() returns trigger
    language plpgsql set search_path = pg_catalog, public, pg_temp set enable_sort = off as $$
begin
    if tg_table_name = 'orders' then
        insert into unpacked_customers (tenant_id, day)
        select distinct tenant_id, (placed_at at time zone 'UTC')::date from changed_rows;
    elsif tg_table_name = 'refunds' then
        insert into unpacked_customers (tenant_id, day)
        select distinct tenant_id, (refunded_at at time zone 'UTC')::date from changed_rows;
    else
        insert into unpacked_customers (tenant_id, day)
        select tenant_id, (placed_at at time zone 'UTC')::date from changed_rows
         union
        select r.tenant_id, (r.refunded_at at time zone 'UTC')::date
          from changed_rows c
         cross join lateral (
               select * from refunds where tenant_id = c.tenant_id and order_id = c.order_id offset 0) r;
    end if;
    return null;
end $$;
revoke execute on function unpack_customers from public;
create trigger unpack_customers after insert on orders referencing new table as changed_rows
    for each statement execute function unpack_customers();
create trigger unpack_customers after insert on refunds referencing new table as changed_rows
    for each statement execute function unpack_customers();
create trigger unpack_customers after insert on cancellations referencing new table as changed_rows
    for each statement execute function unpack_customers();

-- pack_customers packs up to max_rows days of the next tenant that has days to pack, as pack_product_sums does.
create function pack_customers(after_tenant bigint, max_rows integer)
    returns table (tenant bigint, changed integer)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    row record;
begin
    for tenant in select t.id from tenants t where t.id > after_tenant order by t.id loop
        perform set_config('app.tenant_id', tenant::text, true);
        continue when not exists (select from unpacked_customers u where u.tenant_id = tenant);
        continue when not pg_try_advisory_xact_lock(hashtextextended('packed customers of tenant ' || tenant, 0));
        changed := 0;
        for row in
            select distinct u.day
              from unpacked_customers u
             where u.tenant_id = tenant
             limit max_rows
        loop
            begin
                with packed as (
                    delete from unpacked_customers u
                     where u.tenant_id = tenant and u.day = row.day
                )
                insert into packed_customers
                       (tenant_id, day, customer_ids, revenue, placed_at, refunded_ids, refunds, guests)
                select tenant, row.day, s.*
                  from customer_sales(tenant, row.day::timestamp at time zone 'UTC',
                                      (row.day + 1)::timestamp at time zone 'UTC') s
                    on conflict (tenant_id, day) do update
                   set customer_ids = excluded.customer_ids, revenue = excluded.revenue, placed_at = excluded.placed_at,
                       refunded_ids = excluded.refunded_ids, refunds = excluded.refunds, guests = excluded.guests;
                changed := changed + 1;
            exception when numeric_value_out_of_range then
                null; -- The mark stays, and reports of the day fail with the same error.
            end;
        end loop;
        return next;
        exit;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;
revoke execute on function pack_customers from public;
grant execute on function pack_customers to storeroom_runtime;

-- All days from the first to the last sale: these are found without reading the sales.
do $$
declare
    tenant bigint;
begin
    for tenant in select id from tenants loop
        perform set_config('app.tenant_id', tenant::text, true);
        insert into unpacked_customers (tenant_id, day)
        select tenant, day::date
          from (
               select least((select min(placed_at) from orders where tenant_id = tenant),
                            (select min(refunded_at) from refunds where tenant_id = tenant)) as first,
                      greatest((select max(placed_at) from orders where tenant_id = tenant),
                               (select max(refunded_at) from refunds where tenant_id = tenant)) as last
               ) sales
         cross join generate_series(date_trunc('day', first at time zone 'UTC'), last at time zone 'UTC', '1 day') day;
    end loop;
    perform set_config('app.tenant_id', '', true);
end $$;
