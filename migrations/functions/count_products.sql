-- Counts products by status and by the values that lists filter by, and their storage and records for the quotas. A
-- statement that writes the ledger too sets app.counted.
create or replace function count_products() returns trigger
language plpgsql
as $$
declare
    backend_slot smallint;
    total record;
    facet_storage bigint;
begin
    if tg_op = 'INSERT' then
        select public.take_slot(n.tenant_id) into backend_slot from new_rows n limit 1;
        -- A statement that writes the row of the ledger with its product sets app.counted, so that no trigger of the
        -- ledger is needed.
        with facets as (
             insert into public.facet_counts as c (tenant_id, facet, value, status, slot, count)
             select n.tenant_id, f.facet, f.value, n.status, backend_slot, count(*)
               from new_rows n
              cross join lateral public.facets(n.category_id, n.seller_id, n.warehouse_id, n.tags) f
              group by 1, 2, 3, 4
             on conflict (tenant_id, facet, value, status, slot) do update
                set count = c.count + excluded.count, is_stored = true
             returning value, not is_stored as is_new
        ), added as materialized (
             select n.tenant_id, n.status, count(*) as count,
                    count(*) + case when current_setting('app.counted', true) = statement_timestamp()::text
                                    then count(*) filter (where n.quantity > 0) else 0 end as records,
                    sum(public.product_bytes(
                        n.sku, n.name, n.description, n.bin_location, n.upc, n.tags, n.images))::bigint
                    + case when row_number() over () = 1
                           then coalesce((select sum(public.facet_bytes(value)) from facets where is_new), 0)::bigint
                           else 0 end as storage
               from new_rows n
              group by 1, 2
        ), counted as (
             insert into public.product_counts as c (tenant_id, slot, status, count, storage, records)
             select a.tenant_id, backend_slot, a.status, a.count, a.storage, a.records from added a
             on conflict (tenant_id, slot, status) do update
                set count = c.count + excluded.count, storage = c.storage + excluded.storage,
                    records = c.records + excluded.records
        )
        select min(a.tenant_id) as tenant, sum(a.storage)::bigint as storage, sum(a.records)::bigint as records
          into total
          from added a;
        perform public.check_quota(total.tenant, total.storage, total.records);
    elsif tg_op = 'DELETE' then
        select public.take_slot(o.tenant_id) into backend_slot from old_rows o limit 1;
        with facets as (
             insert into public.facet_counts as c (tenant_id, facet, value, status, slot, count)
             select o.tenant_id, f.facet, f.value, o.status, backend_slot, -count(*)
               from old_rows o
              cross join lateral public.facets(o.category_id, o.seller_id, o.warehouse_id, o.tags) f
              group by 1, 2, 3, 4
             on conflict (tenant_id, facet, value, status, slot) do update
                set count = c.count + excluded.count, is_stored = true
             returning value, not is_stored as is_new
        )
        insert into public.product_counts as c (tenant_id, slot, status, count, storage, records)
        select o.tenant_id, backend_slot, o.status, -count(*),
               case when row_number() over () = 1
                    then coalesce((select sum(public.facet_bytes(value)) from facets where is_new), 0)::bigint
                    else 0 end
               - sum(public.product_bytes(o.sku, o.name, o.description, o.bin_location, o.upc, o.tags, o.images))::bigint,
               -count(*)
          from old_rows o
         group by 1, 3
        on conflict (tenant_id, slot, status) do update
           set count = c.count + excluded.count, storage = c.storage + excluded.storage,
               records = c.records + excluded.records;
    else
        backend_slot := public.take_slot(new.tenant_id);
        if old.status <> new.status then
            insert into public.product_counts as c (tenant_id, slot, status, count)
            values (new.tenant_id, backend_slot, old.status, -1), (new.tenant_id, backend_slot, new.status, 1)
            on conflict (tenant_id, slot, status) do update set count = c.count + excluded.count;
        end if;
        with facets as (
             insert into public.facet_counts as c (tenant_id, facet, value, status, slot, count)
             select new.tenant_id, f.facet, f.value, f.status, backend_slot, sum(f.count)
               from (
                    select facet, value, old.status as status, -1 as count
                      from public.facets(old.category_id, old.seller_id, old.warehouse_id, old.tags)
                     union all
                    select facet, value, new.status, 1
                      from public.facets(new.category_id, new.seller_id, new.warehouse_id, new.tags)
                    ) f
              group by 2, 3, 4
             having sum(f.count) <> 0
             on conflict (tenant_id, facet, value, status, slot) do update
                set count = c.count + excluded.count, is_stored = true
             returning value, not is_stored as is_new
        )
        select sum(public.facet_bytes(value)) into facet_storage from facets where is_new;
        perform public.add_to_quota(new.tenant_id, facet_storage, 0, true);
    end if;
    return null;
end $$;
revoke execute on function count_products from public;
