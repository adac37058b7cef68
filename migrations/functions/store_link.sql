-- Stores an invitation, or a reset for a member of this tenant only: an owner must not get an account that belongs to
-- another tenant too. Operators call it, and make_link.
create or replace function store_link(
    link bytea, purpose text, address text, new_role text, request text, maker bigint) returns text
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    here   boolean;
    others boolean;
begin
    -- One at a time, or the operator's and an owner's would not end each other.
    perform from tenants t where t.id = tenant for no key update;
    here   := exists (select from memberships m join users u on u.id = m.user_id where u.email = lower(address) and m.tenant_id = tenant);
    others := exists (select from memberships m join users u on u.id = m.user_id where u.email = lower(address) and m.tenant_id <> tenant);
    delete from one_time_links l where l.created_at < now() - interval '24 hours';
    if exists (select from one_time_links l where l.tenant_id = tenant and l.request = store_link.request) then
        return 'repeated';
    elsif purpose = 'invitation' and here then
        return 'member';
    elsif purpose = 'reset' and not here then
        return 'absent';
    elsif purpose = 'reset' and others then
        return 'elsewhere';
    end if;
    update one_time_links l set expires_at = 'epoch'
     where l.tenant_id = tenant and l.email = lower(address) and l.purpose = store_link.purpose;
    insert into one_time_links (token_hash, tenant_id, purpose, email, role, request, made_by)
    values (link, tenant, purpose, lower(address), new_role, request, maker);
    return 'made';
end $$;
revoke execute on function store_link from public;
