-- Records in the feed which fields of products a statement changed, and counts by how much they grew. A statement that
-- records its change itself sets app.recorded.
create or replace function record_products() returns trigger
language plpgsql
as $$
declare
    grown record;
begin
    -- An update of updated_at alone moves stock between warehouses. Each row has a partner, but only a full join is
    -- never a nested loop, which would compare each row with all others.
    with compared as materialized (
         select n.tenant_id, n.id,
                public.product_bytes(n.sku, n.name, n.description, n.bin_location, n.upc, n.tags, n.images)
                - public.product_bytes(o.sku, o.name, o.description, o.bin_location, o.upc, o.tags, o.images) as bytes,
                array_remove(array[
                  case when n.sku <> o.sku then 'sku' end,
                  case when n.name <> o.name then 'name' end,
                  case when n.description is distinct from o.description then 'description' end,
                  case when n.price <> o.price then 'price' end,
                  case when n.msrp is distinct from o.msrp then 'msrp' end,
                  case when n.cost is distinct from o.cost then 'cost' end,
                  case when n.status <> o.status then 'status' end,
                  case when n.condition <> o.condition then 'condition' end,
                  case when n.quantity <> o.quantity then 'quantity' end,
                  case when n.reorder_point is distinct from o.reorder_point then 'reorder_point' end,
                  case when n.category_id is distinct from o.category_id then 'category' end,
                  case when n.seller_id is distinct from o.seller_id then 'seller' end,
                  case when n.warehouse_id <> o.warehouse_id then 'warehouse' end,
                  case when n.bin_location is distinct from o.bin_location then 'bin_location' end,
                  case when n.upc is distinct from o.upc then 'upc' end,
                  case when n.tags <> o.tags then 'tags' end,
                  case when n.images <> o.images then 'images' end,
                  case when n.updated_at <> o.updated_at then 'updated_at' end], null) as changed
           from new_rows n
           full join old_rows o on o.id = n.id and o.tenant_id = n.tenant_id
    ), recorded as (
         insert into public.changes (tenant_id, epoch, action, types, changed, ids)
         select c.tenant_id, public.feed_epoch(c.tenant_id), 'updated',
                case when c.changed && '{quantity,warehouse}' or c.changed = '{updated_at}'
                     then '{product,stock}'::text[] else '{product}' end,
                c.changed, array_agg(c.id::text)
           from compared c
          where c.changed <> '{}'
          group by c.tenant_id, c.changed
    )
    select min(c.tenant_id) as tenant, sum(c.bytes)::bigint as bytes into grown from compared c;
    perform public.add_to_quota(grown.tenant, grown.bytes, 0, grown.bytes > 0);
    return null;
end $$;
revoke execute on function record_products from public;
