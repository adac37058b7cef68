-- The size of a row of facet_counts for the quota, because a tenant that writes new tags again and again adds rows.
-- PostgreSQL needs about 100 bytes beside the value.
create or replace function facet_bytes(value text) returns bigint
language sql immutable
as $$
    select (octet_length(value) + 100)::bigint
$$;
revoke execute on function facet_bytes from public;
grant execute on function facet_bytes to storeroom_runtime;
