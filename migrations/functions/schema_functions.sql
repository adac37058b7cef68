-- The functions that were applied after the last migration, or '' if none were. serve reads it to refuse functions that
-- are older than it needs.
create or replace function schema_functions() returns text
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select coalesce((select functions from schema_migrations order by version desc limit 1), '')
$$;
revoke execute on function schema_functions from public;
grant execute on function schema_functions to storeroom_runtime;
