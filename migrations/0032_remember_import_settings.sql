-- Settings of imports, and reservations of files during the deletion of a tenant.

create table import_settings (
    tenant_id  bigint not null references tenants (id) on delete cascade,
    header     bytea not null check (octet_length(header) = 32),
    settings   jsonb not null,
    updated_at timestamptz not null default now(),
    primary key (tenant_id, header)
);
comment on table import_settings is 'Settings with which files were imported, for other files with the same header. The code keeps those of at most 100 headers.';
comment on column import_settings.header is 'The SHA-256 of the names of the columns.';
comment on column import_settings.settings is 'Answers of a user, and what each column means.';
alter table import_settings alter tenant_id set statistics 0;
alter table import_settings enable row level security;
alter table import_settings force row level security;
create policy tenant on import_settings
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, update, delete on import_settings to storeroom_runtime;

-- PostgreSQL checks the bodies of functions as queries.
set local row_security = on;

-- reserve_media reserves a file for an hour. It locks the tenant, so that its deletion waits and then keeps the
-- reservation. It returns false if the tenant is deleted.
create function reserve_media(new_file text) returns boolean
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    of_tenant bigint := nullif(current_setting('app.tenant_id', true), '');
begin
    perform from tenants t where t.id = of_tenant for key share;
    if not found then
        return false;
    end if;
    insert into unused_media (tenant_id, due, file) values (of_tenant, now() + interval '1 hour', new_file);
    return true;
end $$;
revoke execute on function reserve_media from public;
grant execute on function reserve_media to storeroom_runtime;

-- A reservation keeps its time, because an upload may still write the file.
create or replace function keep_unused_media() returns trigger
    language plpgsql set search_path = pg_catalog, public, pg_temp as $$
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
