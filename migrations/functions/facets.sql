-- Returns the values by which facet_counts counts a product. count_products calls it, and verify compares with it.
create or replace function facets(category_id bigint, seller_id bigint, warehouse_id bigint, tags text[])
returns table (facet text, value text)
language sql immutable
as $$
    select facet, value
      from (values ('category', category_id::text), ('seller', seller_id::text), ('warehouse', warehouse_id::text)) f (facet, value)
     where value is not null
     union all
    select 'tag', tag from unnest(tags) tag
$$;
revoke execute on function facets from public;
grant execute on function facets to storeroom_runtime;
