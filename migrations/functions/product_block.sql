-- Returns the columns of a row of packed_sums. pack_product_sums stores them, and reports and verify compute them where
-- no row is valid.
create or replace function product_block(of_tenant bigint, of_month date, of_block integer)
returns table (
    sold_ids bytea, items bytea, units bytea, revenue bytea, cost bytea, revenue_without_cost bytea, refunds bytea,
    refunded_revenue bytea, refunded_revenue_without_cost bytea, units_returned bytea, returned_cost bytea)
language sql stable
as $$
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
