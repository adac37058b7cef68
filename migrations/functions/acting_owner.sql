-- Returns the owner whose session it is, or null, for changes of members and links. It locks the tenant, or an owner
-- whom another one removes could still act.
create or replace function acting_owner(token bytea) returns bigint
language plpgsql
as $$
begin
    perform from tenants t where t.id = nullif(current_setting('app.tenant_id', true), '')::bigint for no key update;
    return acting_member(token, '{owner}');
end $$;
revoke execute on function acting_owner from public;
