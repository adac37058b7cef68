-- Tells all instances which tenant has changed keys or settings, so that they drop what they have cached. Only rare
-- writes notify, because it takes a database-wide lock at commit.
create or replace function notify_keys() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if tg_table_name = 'tenants' then
        perform pg_notify('keys', coalesce(new.id, old.id)::text);
    else
        perform pg_notify('keys', coalesce(new.tenant_id, old.tenant_id)::text);
    end if;
    return null;
end $$;
revoke execute on function notify_keys from public;
