-- What the previous release searches of a customer. The index customers_search contains it, so it never changes. Its
-- cost makes PostgreSQL prefer the index.
create or replace function customer_text(number text, name text, email text) returns text
language plpgsql immutable parallel safe cost 100000
set search_path = pg_catalog, public, pg_temp
as $$
begin
    return ' ' || lower(number collate "default" || ' ' || coalesce(name, '') || ' ' || coalesce(email, ''));
end $$;
revoke execute on function customer_text from public;
grant execute on function customer_text to storeroom_runtime, storeroom_search;
