-- Refuses a row of unused_media for a file of another tenant: its file would be deleted.
create or replace function check_file_owner() returns trigger
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
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
