-- Records orders, refunds and cancellations in the feed, and counts orders and refunds for the quotas. The argument is
-- the action: created or deleted.
create or replace function record_sales() returns trigger
language plpgsql
as $$
declare
    sign constant integer := case tg_argv[0] when 'created' then 1 else -1 end;
begin
    if tg_table_name = 'orders' then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select c.tenant_id, public.feed_epoch(c.tenant_id), tg_argv[0], '{order}', array_agg(c.number)
          from changed_rows c
         group by c.tenant_id;
        perform public.add_to_quota(min(c.tenant_id), 0, sign * (count(*) + sum(c.items)), tg_argv[0] = 'created')
           from changed_rows c;
        return null;
    elsif tg_table_name = 'refunds' then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select c.tenant_id, public.feed_epoch(c.tenant_id), tg_argv[0], '{refund}', array_agg(c.id::text)
          from changed_rows c
         group by c.tenant_id;
        perform public.add_to_quota(min(c.tenant_id), 0, sign * count(*), false) from changed_rows c;
    end if;
    insert into public.changes (tenant_id, epoch, action, types, changed, ids)
    select c.tenant_id, public.feed_epoch(c.tenant_id), 'updated', '{order}', case tg_table_name
           when 'refunds' then '{items,refunded_total,refunds,updated_at}'::text[]
           else '{cancelled_at,status,updated_at}' end, array_agg(o.number)
      from (select distinct tenant_id, order_id from changed_rows) c
     cross join lateral (select number from public.orders where tenant_id = c.tenant_id and id = c.order_id limit 1) o
     group by c.tenant_id;
    return null;
end $$;
revoke execute on function record_sales from public;
