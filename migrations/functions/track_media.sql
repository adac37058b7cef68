-- Removes the reservation of a file that a product begins to use, and makes one due for deletion that it no longer
-- uses. So every file belongs to a product or to a row of unused_media.
create or replace function track_media() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
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
