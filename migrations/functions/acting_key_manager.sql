-- Returns the owner or admin whose session it is, or null for an operator, and raises SR002 for others. It locks the
-- tenant, so that two transactions do not both create the 50th key.
create or replace function acting_key_manager(token bytea) returns bigint
language plpgsql
as $$
declare
    person bigint;
begin
    perform from tenants t where t.id = nullif(current_setting('app.tenant_id', true), '')::bigint for no key update;
    if token is null and pg_has_role(session_user, 'storeroom_owner', 'member') then
        return null;
    end if;
    person := acting_member(token, '{owner,admin}');
    if person is null then
        raise 'the session may not change keys' using errcode = 'SR002';
    end if;
    return person;
end $$;
revoke execute on function acting_key_manager from public;
