-- The size of a product for the quota, as catalog.Product.bytes computes it.
create or replace function product_bytes(
    sku text, name text, description text, bin_location text, upc text, tags text[], images jsonb) returns bigint
language sql stable
as $$
    select octet_length(sku) + octet_length(name) + coalesce(octet_length(description), 0)
           + coalesce(octet_length(bin_location), 0) + coalesce(octet_length(upc), 0)
           + octet_length(array_to_string(tags, ''))
           + case when images = '[]' then 0 else public.image_bytes(images) end
$$;
revoke execute on function product_bytes from public;
grant execute on function product_bytes to storeroom_runtime;
