-- Returns the columns of packed_customers for any time. pack_customers stores them, and reports and verify compute them
-- where no row is valid.
create or replace function customer_sales(of_tenant bigint, begins timestamptz, ends timestamptz)
returns table (customer_ids bytea, revenue bytea, placed_at bytea, refunded_ids bytea, refunds bytea, guests bytea)
language sql stable
as $$
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
