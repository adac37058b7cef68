-- Fills revenue_without_cost. `storeroom rebuild` corrects what is missing afterwards: orders that an
-- instance of the earlier version stores during the upgrade, and days on which a time zone skips or
-- repeats midnight. Instances that store orders lock rollups in the order of their key, so this does too.

set local row_security = on;

do $$
declare
    tenant bigint;
    time_zone text;
begin
    for tenant in select id from tenants loop
        perform set_config('app.tenant_id', tenant::text, true);
        select timezone into time_zone from sales_zones where tenant_id = tenant;
        update orders o
           set revenue_without_cost = i.revenue
          from (select order_id, sum(quantity * unit_price - discount)::bigint as revenue
                  from order_items
                 where tenant_id = tenant and unit_cost is null
                 group by order_id) i
         where o.tenant_id = tenant and o.id = i.order_id;
        perform from sales_rollups
          where tenant_id = tenant
          order by kind, day, channel, key
            for no key update;
        update sales_rollups r
           set revenue_without_cost = f.revenue
          from (select k.kind, k.day, k.channel, k.key, sum(s.revenue)::bigint as revenue
                  from (select (i.placed_at at time zone time_zone)::date as day, o.channel, i.sold_id,
                               coalesce(p.category_id, 0) as category_id, coalesce(p.seller_id, 0) as seller_id,
                               i.quantity * i.unit_price - i.discount as revenue
                          from order_items i
                          join orders o on o.tenant_id = tenant and o.id = i.order_id
                          join sold_products p on p.tenant_id = tenant and p.id = i.sold_id
                         where i.tenant_id = tenant and i.unit_cost is null
                           and not exists (select from cancellations c
                                            where c.tenant_id = tenant and c.order_id = i.order_id)) s
                 cross join lateral (
                       values (1, s.day, s.channel, 0::bigint), (2, s.day, s.channel, s.category_id),
                              (3, s.day, s.channel, s.seller_id),
                              (4, date_trunc('month', s.day::timestamp)::date, '', s.sold_id)
                       ) k (kind, day, channel, key)
                 group by 1, 2, 3, 4) f
         where r.tenant_id = tenant and r.kind = f.kind and r.day = f.day and r.channel = f.channel
           and r.key = f.key;
    end loop;
    perform set_config('app.tenant_id', '', true);
end $$;
