-- The runtime role could insert the name of another tenant's file into unused_media, and an instance deleted the file.
-- Now a name belongs to a tenant: it ends with a digest of the tenant. The files of earlier releases are in old_media.
create table old_media (
    tenant_id bigint not null references tenants on delete cascade,
    file      text collate "C" not null,
    primary key (tenant_id, file)
);
comment on table old_media is
    'Files in the media storage whose names do not show their tenant, because an instance of an earlier release has stored them. The runtime role has no privilege.';
alter table old_media alter tenant_id set statistics 0;
alter table old_media enable row level security, force row level security;
create policy tenant on old_media
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));

-- Reports whether a tenant may delete a file. Other names than those of files are harmless.
create function owns_file(of_tenant bigint, file text) returns boolean
language sql immutable set search_path = pg_catalog, public, pg_temp as $$
    select file !~ '^[A-Z2-7]{26}(-[0-9]{3,4})?\.(jpg|png)$'
        or substr(file, 17, 10) = translate(
               left(encode(sha256(convert_to(of_tenant || ' ' || left(file, 16), 'UTF8')), 'hex'), 10),
               '0123456789abcdef', 'ABCDEFGHIJKLMNOP')
$$;
revoke execute on function owns_file from public;

-- An instance of an earlier release reserves a name without a tenant. No other tenant may have it.
create or replace function reserve_media(new_file text) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    of_tenant bigint := nullif(current_setting('app.tenant_id', true), '');
    other bigint;
begin
    perform from tenants t where t.id = of_tenant for key share;
    if not found then
        return false;
    end if;
    if not owns_file(of_tenant, new_file) then
        for other in select t.id from tenants t where t.id <> of_tenant loop
            perform set_config('app.tenant_id', other::text, true);
            if exists (select from old_media o where o.tenant_id = other and o.file = new_file) then
                raise exception 'the file belongs to another tenant' using errcode = 'insufficient_privilege';
            end if;
        end loop;
        perform set_config('app.tenant_id', of_tenant::text, true);
        insert into old_media (tenant_id, file) values (of_tenant, new_file) on conflict do nothing;
    end if;
    insert into unused_media (tenant_id, due, file) values (of_tenant, now() + interval '1 hour', new_file);
    return true;
end $$;

create or replace function forget_unused_media(of_tenant bigint, files text[]) returns void
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    tenant bigint;
begin
    foreach tenant in array array[of_tenant, 0] loop
        perform set_config('app.tenant_id', tenant::text, true);
        with forgotten as (
            delete from unused_media where tenant_id = tenant and file = any (files) returning file
        )
        delete from old_media o where o.tenant_id = tenant and o.file in (select f.file from forgotten f);
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;

create function check_file_owner() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    if owns_file(new.tenant_id, new.file)
       or exists (select from old_media o where o.tenant_id = new.tenant_id and o.file = new.file)
       -- The files of deleted tenants, which only the migrator deletes.
       or new.tenant_id = 0 and pg_has_role(session_user, 'storeroom_owner', 'member') then
        return new;
    end if;
    raise exception 'the file belongs to another tenant' using errcode = 'insufficient_privilege';
end $$;
revoke execute on function check_file_owner from public;
