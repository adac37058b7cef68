-- The number of the last migration that ran. serve and its readiness check read it; the runtime role cannot read
-- schema_migrations.
create or replace function schema_version() returns integer
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as 'select coalesce(max(version), 0) from schema_migrations';
revoke execute on function schema_version from public;
grant execute on function schema_version to storeroom_runtime;
