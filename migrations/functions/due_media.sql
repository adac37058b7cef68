-- Returns the files of unused_media that are due first. A worker reads them with a function, because those of deleted
-- tenants have the tenant 0, which no other statement of the program may name.
create or replace function due_media(of_tenant bigint, max_rows integer) returns table (file text, due timestamptz)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    perform set_config('app.tenant_id', of_tenant::text, true);
    return query
        select u.file, u.due from unused_media u where u.tenant_id = of_tenant order by u.due limit max_rows;
    perform set_config('app.tenant_id', before, true);
end $$;
revoke execute on function due_media from public;
grant execute on function due_media to storeroom_runtime;
