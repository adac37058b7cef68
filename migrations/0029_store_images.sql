-- Images of products. products.images has those with an external URL, {id, position, url}, and those with files in the
-- media storage, {id, position, file, width, height, bytes}.
comment on column products.images is 'JSON array of {id, position, url} or {id, position, file, width, height, bytes}, in the order of the positions. A file is a name in the media storage.';

create sequence image_ids;
comment on sequence image_ids is 'Ids of images.';
grant usage on sequence image_ids to storeroom_runtime;

-- A file is reserved here before it is written, so that a killed upload leaves no file behind. There is no foreign key,
-- because the files of a deleted tenant must be deleted too: they get the tenant 0.
create table unused_media (
    tenant_id bigint not null,
    due       timestamptz not null,
    file      text collate "C" not null,
    primary key (tenant_id, file)
);
comment on table unused_media is 'Files in the media storage that no product uses: uploads in progress, and files of deleted images. Instances delete them when they are due. Files of deleted tenants have the tenant 0.';
create index unused_media_due on unused_media (tenant_id, due);
alter table unused_media alter tenant_id set statistics 0, alter due set statistics 0;
alter table unused_media enable row level security;
alter table unused_media force row level security;
create policy tenant on unused_media
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, delete on unused_media to storeroom_runtime;

create table media_totals (
    tenant_id bigint not null references tenants (id) on delete cascade,
    bytes     bigint not null,
    primary key (tenant_id)
);
comment on table media_totals is 'Size of the files of all images of a tenant. A trigger on products writes it.';
alter table media_totals alter tenant_id set statistics 0;
alter table media_totals enable row level security;
alter table media_totals force row level security;
create policy tenant on media_totals
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, update on media_totals to storeroom_runtime;

-- PostgreSQL checks the bodies of functions as queries.
set local row_security = on;

-- track_media runs after images change. A file that a product begins to use must be reserved, and a file that it no
-- longer uses is due for deletion.
create function track_media() returns trigger
    language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
    after jsonb := '[]';
    tenant bigint := old.tenant_id;
    added text[];
    found bigint;
    growth bigint;
begin
    if tg_op = 'UPDATE' then
        after := new.images;
    end if;
    insert into unused_media (tenant_id, due, file)
    select tenant, now(), i ->> 'file'
      from jsonb_array_elements(old.images) i
     where i ? 'file'
    except
    select tenant, now(), i ->> 'file'
      from jsonb_array_elements(after) i;
    added := array(
        select i ->> 'file' from jsonb_array_elements(after) i where i ? 'file'
        except
        select i ->> 'file' from jsonb_array_elements(old.images) i);
    if added <> '{}' then
        with used as (
            delete from unused_media where tenant_id = tenant and file = any (added) returning file
        )
        select count(*) into found from used;
        if found <> cardinality(added) then
            raise exception 'an image has a file that is not reserved';
        end if;
    end if;
    growth := (select coalesce(sum((i ->> 'bytes')::bigint), 0) from jsonb_array_elements(after) i)
            - (select coalesce(sum((i ->> 'bytes')::bigint), 0) from jsonb_array_elements(old.images) i);
    if growth > 0 then
        insert into media_totals as t (tenant_id, bytes)
        values (tenant, growth)
            on conflict (tenant_id) do update
           set bytes = t.bytes + excluded.bytes;
    elsif growth < 0 then
        update media_totals set bytes = bytes + growth where tenant_id = tenant;
    end if;
    return null;
end $$;
revoke execute on function track_media from public;

-- A tenant is deleted by the owner, with the tenant set.
create function keep_unused_media() returns trigger
    language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    files text[];
begin
    perform set_config('app.tenant_id', old.id::text, true);
    with gone as (
        delete from unused_media where tenant_id = old.id returning file
    )
    select array_agg(file) into files from gone;
    perform set_config('app.tenant_id', '0', true);
    insert into unused_media (tenant_id, due, file)
    select 0, now(), file from unnest(files) file;
    perform set_config('app.tenant_id', before, true);
    return null;
end $$;
revoke execute on function keep_unused_media from public;

-- claim_unused_media returns up to max_rows files that are due. An instance that fails to delete them tries again after
-- ten minutes.
create function claim_unused_media(max_rows integer)
    returns table (tenant bigint, file text)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    claimed record;
begin
    for tenant in select 0::bigint union all select t.id from tenants t loop
        perform set_config('app.tenant_id', tenant::text, true);
        for claimed in
            update unused_media u
               set due = now() + interval '10 minutes'
             where u.tenant_id = tenant
               and u.file in (
                   select d.file
                     from unused_media d
                    where d.tenant_id = tenant and d.due <= now()
                    order by d.due
                    limit max_rows
                      for update skip locked)
         returning u.file
        loop
            file := claimed.file;
            max_rows := max_rows - 1;
            return next;
        end loop;
        exit when max_rows <= 0;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;
revoke execute on function claim_unused_media from public;
grant execute on function claim_unused_media to storeroom_runtime;

-- forget_unused_media deletes the rows of files that an instance has deleted. The tenant may be deleted since it
-- claimed them.
create function forget_unused_media(of_tenant bigint, files text[]) returns void
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    tenant bigint;
begin
    foreach tenant in array array[of_tenant, 0] loop
        perform set_config('app.tenant_id', tenant::text, true);
        delete from unused_media where tenant_id = tenant and file = any (files);
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;
revoke execute on function forget_unused_media from public;
grant execute on function forget_unused_media to storeroom_runtime;

create trigger keep_unused_media after delete on tenants for each row execute function keep_unused_media();

-- Requests that wait behind this lock fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '1500ms', true);
    for retries in reverse 20..0 loop
        begin
            lock table products in share row exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;
create trigger track_changed_media after update of images on products for each row
    when (old.images is distinct from new.images) execute function track_media();
create trigger track_deleted_media after delete on products for each row
    when (old.images <> '[]') execute function track_media();
