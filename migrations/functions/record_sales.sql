-- Records new orders, refunds and cancellations in the feed, counts orders and refunds for the quotas, and marks the days
-- whose packed customers they change.
create or replace function record_sales() returns trigger
language plpgsql
as $$
begin
    if tg_table_name = 'orders' then
        insert into public.unpacked_customers (tenant_id, day)
        select distinct n.tenant_id, (n.placed_at at time zone 'UTC')::date from new_rows n;
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select n.tenant_id, public.feed_epoch(n.tenant_id), 'created', '{order}', array_agg(n.number)
          from new_rows n
         group by n.tenant_id;
        perform public.add_to_quota(min(n.tenant_id), 0, count(*) + sum(n.items), true) from new_rows n;
        return null;
    elsif tg_table_name = 'refunds' then
        insert into public.unpacked_customers (tenant_id, day)
        select distinct n.tenant_id, (n.refunded_at at time zone 'UTC')::date from new_rows n;
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select n.tenant_id, public.feed_epoch(n.tenant_id), 'created', '{refund}', array_agg(n.id::text)
          from new_rows n
         group by n.tenant_id;
        perform public.add_to_quota(min(n.tenant_id), 0, count(*), false) from new_rows n;
    else
        insert into public.unpacked_customers (tenant_id, day)
        select n.tenant_id, (n.placed_at at time zone 'UTC')::date from new_rows n
         union
        select r.tenant_id, (r.refunded_at at time zone 'UTC')::date
          from new_rows n
         cross join lateral (
               select * from public.refunds where tenant_id = n.tenant_id and order_id = n.order_id offset 0) r;
    end if;
    insert into public.changes (tenant_id, epoch, action, types, changed, ids)
    select n.tenant_id, public.feed_epoch(n.tenant_id), 'updated', '{order}', case tg_table_name
           when 'refunds' then '{items,refunded_total,refunds,updated_at}'::text[]
           else '{cancelled_at,status,updated_at}' end, array_agg(o.number)
      from (select distinct tenant_id, order_id from new_rows) n
     cross join lateral (select number from public.orders where tenant_id = n.tenant_id and id = n.order_id limit 1) o
     group by n.tenant_id;
    return null;
end $$;
revoke execute on function record_sales from public;
