-- Keeps the rows of unused_media of a deleted tenant under the tenant 0, because its files must still be deleted.
create or replace function keep_unused_media() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    files text[];
    times timestamptz[];
begin
    perform set_config('app.tenant_id', old.id::text, true);
    with gone as (
        delete from unused_media where tenant_id = old.id returning file, due
    )
    select array_agg(file), array_agg(due) into files, times from gone;
    perform set_config('app.tenant_id', '0', true);
    insert into unused_media (tenant_id, due, file)
    select 0, u.due, u.file from unnest(files, times) u (file, due);
    perform set_config('app.tenant_id', before, true);
    return null;
end $$;
revoke execute on function keep_unused_media from public;
