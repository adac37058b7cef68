-- Returns the sums of returns of refunds by row of the rollups, for add_refunds.
create or replace function refund_sums(of_tenant bigint, refund_ids bigint[])
returns table (
    kind integer, day date, channel text, key bigint, refund_count bigint, refunded_revenue bigint,
    refunded_revenue_without_cost bigint, units_returned bigint, returned_cost bigint)
language sql stable
set search_path = pg_catalog, public, pg_temp
as $$
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
