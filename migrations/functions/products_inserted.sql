-- Counts new products for lists and quotas, copies their tags, lists low products, records the products in the feed, and
-- queues their texts if a release with another rule of search texts writes them. A statement that writes their rows of
-- the ledger too sets app.counted, and one that records them itself sets app.recorded.
create or replace function products_inserted() returns trigger
language plpgsql
as $$
declare
    backend_slot smallint;
    total record;
begin
    select public.take_slot(n.tenant_id) into backend_slot from new_rows n limit 1;
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
    ), tagged as (
         insert into public.product_tags (tenant_id, tag, created_at, product_id, status, name, sku, price)
         select n.tenant_id, unnest(n.tags), n.created_at, n.id, n.status, n.name, n.sku, n.price from new_rows n
    ), listed as (
         insert into public.low_products (tenant_id, product_id, quantity)
         select n.tenant_id, n.id, n.quantity from new_rows n where n.quantity <= n.reorder_point
    )
    select min(a.tenant_id) as tenant, sum(a.storage)::bigint as storage, sum(a.records)::bigint as records
      into total
      from added a;
    perform public.check_quota(total.tenant, total.storage, total.records);
    if current_setting('app.recorded', true) is distinct from statement_timestamp()::text then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select n.tenant_id, public.feed_epoch(n.tenant_id), 'created', '{product,stock}', array_agg(n.id::text)
          from new_rows n
         group by n.tenant_id;
    end if;
    if current_setting('app.text_version', true) is distinct from '1' then
        insert into public.unfilled_texts (tenant_id, kind, first_id, last_id)
        select n.tenant_id, 'product', min(n.id), max(n.id) from new_rows n group by n.tenant_id;
    end if;
    return null;
end $$;
revoke execute on function products_inserted from public;
