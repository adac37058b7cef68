-- Marks the days of new orders, refunds and cancellations, which pack_customers and reports then compute again.
create or replace function unpack_customers() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
set enable_sort = off
as $$
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
