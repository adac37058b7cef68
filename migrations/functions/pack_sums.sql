-- A task computes marked rows of packed_sums, monthly_sums and packed_customers again with it. One statement deletes a
-- mark and reads the sales, so it sees both before or both after a concurrent sale. It keeps the mark of a month with few
-- sums, which reports compute as fast as they read a row.
create or replace function pack_sums(after_tenant bigint, max_rows integer, few integer default 100)
returns table (tenant bigint, changed integer)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    retry interval := '0';
    mark record;
begin
    changed := 0;
    tenant := after_tenant;
    for visits in 1..case when after_tenant < 0 then 1 else 100 end loop
        tenant := case when after_tenant < 0 then -after_tenant else next_tenant_with_work('pack_sums', tenant) end;
        exit when tenant is null;
        perform set_config('app.tenant_id', tenant::text, true);
        delete from tenants_with_work w
         where w.task = 'pack_sums'
           and w.tenant_id = tenant
           and w.worker is null
           and not exists (select from unpacked_sums u where u.tenant_id = tenant and not u.is_kept);
        continue when found;
        if after_tenant < 0 then
            perform pg_advisory_xact_lock(hashtextextended('packed sums of tenant ' || tenant, 0));
        end if;
        continue when not pg_try_advisory_xact_lock(hashtextextended('packed sums of tenant ' || tenant, 0));
        for mark in
            select distinct u.month, u.block
              from unpacked_sums u
             where u.tenant_id = tenant and not u.is_kept
        loop
            exit when changed = max_rows;
            begin
                case mark.block
                when -2 then
                    delete from packed_customers p where p.tenant_id = tenant and p.day = mark.month;
                    with unmarked as (
                        delete from unpacked_sums u
                         where u.tenant_id = tenant and u.month = mark.month and u.block = mark.block
                    ), of_previous_release as (
                        delete from unpacked_customers u where u.tenant_id = tenant and u.day = mark.month
                    )
                    insert into packed_customers
                           (tenant_id, day, customer_ids, revenue, placed_at, refunded_ids, refunds, guests)
                    select tenant, mark.month, s.*
                      from customer_sales(tenant, mark.month::timestamp at time zone 'UTC',
                                          (mark.month + 1)::timestamp at time zone 'UTC') s;
                when -1 then
                    delete from monthly_sums m where m.tenant_id = tenant and m.kind in (2, 3) and m.month = mark.month;
                    with unmarked as (
                        delete from unpacked_sums u
                         where u.tenant_id = tenant and u.month = mark.month and u.block = mark.block
                    ), few_sums as materialized (
                        select count(*) between 1 and few - 1 as is_true
                          from (
                               select from sales_rollups r
                                where r.tenant_id = tenant and r.kind in (2, 3)
                                  and r.day >= mark.month and r.day < (mark.month + interval '1 month')::date
                                limit few
                               ) r
                    ), kept as (
                        insert into unpacked_sums (tenant_id, month, block, is_kept)
                        select tenant, mark.month, mark.block, true from few_sums where is_true
                    )
                    insert into monthly_sums
                           (tenant_id, kind, month, key, orders, items, units, units_without_cost, revenue, discounts,
                            tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue,
                            refunded_revenue_without_cost, units_returned, returned_cost)
                    select tenant, r.kind, mark.month, r.key, sum(r.orders), sum(r.items), sum(r.units),
                           sum(r.units_without_cost), sum(r.revenue), sum(r.discounts), sum(r.tax), sum(r.cost),
                           sum(r.refund_count), sum(r.refunds), sum(r.shipping), sum(r.revenue_without_cost),
                           sum(r.refunded_revenue), sum(r.refunded_revenue_without_cost), sum(r.units_returned),
                           sum(r.returned_cost)
                      from sales_rollups r
                     where r.tenant_id = tenant
                       and r.kind in (2, 3)
                       and r.day >= mark.month
                       and r.day < (mark.month + interval '1 month')::date
                       and not (select is_true from few_sums)
                     group by r.kind, r.key;
                else
                    delete from packed_sums p
                     where p.tenant_id = tenant and p.month = mark.month and p.block = mark.block;
                    with unmarked as (
                        delete from unpacked_sums u
                         where u.tenant_id = tenant and u.month = mark.month and u.block = mark.block
                    ), sums as materialized (
                        select * from product_block(tenant, mark.month, mark.block)
                    ), kept as (
                        insert into unpacked_sums (tenant_id, month, block, is_kept)
                        select tenant, mark.month, mark.block, true
                          from sums s
                         where length(s.sold_ids) between 8 and 8 * (few - 1)
                    )
                    insert into packed_sums
                           (tenant_id, month, block, sold_ids, items, units, revenue, cost, revenue_without_cost,
                            refunds, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost)
                    select tenant, mark.month, mark.block, s.* from sums s where length(s.sold_ids) >= 8 * greatest(few, 1);
                end case;
                changed := changed + 1;
            exception when numeric_value_out_of_range then
                retry := interval '5 minutes'; -- The mark stays, and reports of the period fail with the same error.
            end;
        end loop;
        with seen as (
            delete from tenants_with_work w
             where w.task = 'pack_sums' and w.tenant_id = tenant and w.worker is null
        )
        insert into tenants_with_work (tenant_id, task, due)
        select tenant, 'pack_sums', now() + case when changed = max_rows then interval '0' else retry end
         where exists (select from unpacked_sums u where u.tenant_id = tenant and not u.is_kept);
        exit when changed > 0;
    end loop;
    perform set_config('app.tenant_id', before, true);
    if tenant is not null then
        return next;
    end if;
end $$;
revoke execute on function pack_sums from public;
grant execute on function pack_sums to storeroom_runtime;
