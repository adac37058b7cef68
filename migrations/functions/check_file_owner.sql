-- Refuses a row of unused_media for a file of another tenant: its file would be deleted. It queues the tenant for the
-- deletion of files once in a transaction, which app.queued_media has.
create or replace function check_file_owner() returns trigger
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if not owns_file(new.tenant_id, new.file)
       and not exists (select from old_media o where o.tenant_id = new.tenant_id and o.file = new.file)
       -- The files of deleted tenants, which only the migrator deletes.
       and not (new.tenant_id = 0 and pg_has_role(session_user, 'storeroom_owner', 'member')) then
        raise exception 'the file belongs to another tenant' using errcode = 'insufficient_privilege';
    end if;
    if current_setting('app.queued_media', true) is distinct from new.tenant_id::text then
        insert into tenants_with_work (tenant_id, task) values (new.tenant_id, 'claim_unused_media');
        perform set_config('app.queued_media', new.tenant_id::text, true);
    end if;
    return new;
end $$;
revoke execute on function check_file_owner from public;
