-- A task computes marked months and blocks of packed_sums and monthly_sums again with it. One statement deletes a mark
-- and reads the sums, so it sees both before or both after a concurrent sale.
create or replace function pack_product_sums(after_tenant bigint, max_rows integer)
returns table (tenant bigint, changed integer)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    row record;
begin
    changed := 0;
    tenant := after_tenant;
    for visits in 1..case when after_tenant < 0 then 1 else 100 end loop
        tenant := case when after_tenant < 0 then -after_tenant else next_tenant_with_work('pack_product_sums', tenant) end;
        exit when tenant is null;
        perform set_config('app.tenant_id', tenant::text, true);
        delete from tenants_with_work w
         where w.task = 'pack_product_sums'
           and w.tenant_id = tenant
           and w.worker is null
           and not exists (select from unpacked_sums u where u.tenant_id = tenant);
        continue when found;
        if after_tenant < 0 then
            perform pg_advisory_xact_lock(hashtextextended('packed sums of tenant ' || tenant, 0));
        end if;
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
            delete from tenants_with_work w
             where w.task = 'pack_product_sums' and w.tenant_id = tenant and w.worker is null
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
revoke execute on function pack_product_sums from public;
grant execute on function pack_product_sums to storeroom_runtime;
