-- The size of a delivery of a webhook for the quota.
create or replace function delivery_bytes(response text, error text) returns bigint
language sql immutable
as $$
    select (octet_length(response) + coalesce(octet_length(error), 0))::bigint
$$;
revoke execute on function delivery_bytes from public;
grant execute on function delivery_bytes to storeroom_runtime;
