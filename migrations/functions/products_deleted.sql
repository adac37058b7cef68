-- Subtracts deleted products from the counts of lists and quotas, makes their files due for deletion, and records the
-- products in the feed.
create or replace function products_deleted() returns trigger
language plpgsql
as $$
declare
    backend_slot smallint;
    files record;
begin
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
    if exists (select from old_rows o where o.images <> '[]') then
        insert into public.unused_media (tenant_id, due, file)
        select distinct o.tenant_id, now(), i ->> 'file'
          from old_rows o
         cross join lateral jsonb_array_elements(o.images) i
         where i ? 'file';
        select min(o.tenant_id) as tenant, coalesce(sum((i ->> 'bytes')::bigint), 0) as bytes
          into files
          from old_rows o
         cross join lateral jsonb_array_elements(o.images) i;
        update public.media_totals t set bytes = t.bytes - files.bytes where t.tenant_id = files.tenant;
    end if;
    insert into public.changes (tenant_id, epoch, action, types, ids)
    select o.tenant_id, public.feed_epoch(o.tenant_id), 'deleted', '{product,stock}', array_agg(o.id::text)
      from old_rows o
     group by o.tenant_id;
    return null;
end $$;
revoke execute on function products_deleted from public;
