-- Divides refunds that an earlier release stored without items, for count_returns. It divides as sales.spread does.
create or replace function fill_refunds(of_tenant bigint, refund_ids bigint[]) returns void
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
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
