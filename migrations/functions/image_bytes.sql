-- The size of the pictures of a product, for product_bytes. A query in product_bytes itself would keep PostgreSQL from
-- inlining it.
create or replace function image_bytes(images jsonb) returns bigint
language sql immutable
as $$
    select coalesce(sum(octet_length(coalesce(i ->> 'url', '')) + coalesce((i ->> 'bytes')::bigint, 0)), 0)::bigint
      from jsonb_array_elements(images) i
$$;
revoke execute on function image_bytes from public;
grant execute on function image_bytes to storeroom_runtime;
