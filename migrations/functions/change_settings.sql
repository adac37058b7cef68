-- Changes the settings of the current tenant, for a session of an owner or an admin, and returns those before. For
-- another session it returns no row.
create or replace function change_settings(token bytea, new_name text, new_timezone text, new_currency text)
returns table (name text, timezone text, currency text)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
begin
    -- An owner could remove the member meanwhile.
    select t.name, t.timezone, t.currency into name, timezone, currency from tenants t where t.id = tenant for no key update;
    if acting_member(token, '{owner,admin}') is null then
        return;
    end if;
    update tenants t
       set name = new_name, timezone = new_timezone, currency = new_currency, updated_at = now()
     where t.id = tenant
       and (t.name, t.timezone, t.currency) is distinct from (new_name, new_timezone, new_currency);
    return next;
end $$;
revoke execute on function change_settings from public;
grant execute on function change_settings to storeroom_runtime;
