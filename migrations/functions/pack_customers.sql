-- A task computes marked days of packed_customers again with it, as pack_product_sums does.
create or replace function pack_customers(after_tenant bigint, max_rows integer)
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
        tenant := case when after_tenant < 0 then -after_tenant else next_tenant_with_work('pack_customers', tenant) end;
        exit when tenant is null;
        perform set_config('app.tenant_id', tenant::text, true);
        delete from tenants_with_work w
         where w.task = 'pack_customers'
           and w.tenant_id = tenant
           and w.worker is null
           and not exists (select from unpacked_customers u where u.tenant_id = tenant);
        continue when found;
        if after_tenant < 0 then
            perform pg_advisory_xact_lock(hashtextextended('packed customers of tenant ' || tenant, 0));
        end if;
        continue when not pg_try_advisory_xact_lock(hashtextextended('packed customers of tenant ' || tenant, 0));
        for row in
            select distinct u.day
              from unpacked_customers u
             where u.tenant_id = tenant
             limit max_rows
        loop
            begin
                with packed as (
                    delete from unpacked_customers u
                     where u.tenant_id = tenant and u.day = row.day
                )
                insert into packed_customers
                       (tenant_id, day, customer_ids, revenue, placed_at, refunded_ids, refunds, guests)
                select tenant, row.day, s.*
                  from customer_sales(tenant, row.day::timestamp at time zone 'UTC',
                                      (row.day + 1)::timestamp at time zone 'UTC') s
                    on conflict (tenant_id, day) do update
                   set customer_ids = excluded.customer_ids, revenue = excluded.revenue, placed_at = excluded.placed_at,
                       refunded_ids = excluded.refunded_ids, refunds = excluded.refunds, guests = excluded.guests;
                changed := changed + 1;
            exception when numeric_value_out_of_range then
                null; -- The mark stays, and reports of the day fail with the same error.
            end;
        end loop;
        with seen as (
            delete from tenants_with_work w
             where w.task = 'pack_customers' and w.tenant_id = tenant and w.worker is null
        )
        insert into tenants_with_work (tenant_id, task)
        select tenant, 'pack_customers'
         where exists (select from unpacked_customers u where u.tenant_id = tenant);
        exit when changed > 0;
    end loop;
    perform set_config('app.tenant_id', before, true);
    if tenant is not null then
        return next;
    end if;
end $$;
revoke execute on function pack_customers from public;
grant execute on function pack_customers to storeroom_runtime;
