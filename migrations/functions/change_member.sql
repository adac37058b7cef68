-- Calls set_member for a session of an owner. For another session the outcome is refused.
create or replace function change_member(token bytea, person bigint, new_role text, keep_webhooks boolean)
returns table (email text, before text, outcome text)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    owner bigint := acting_owner(token);
begin
    if owner is null then
        outcome := 'refused';
        return next;
        return;
    end if;
    return query select * from set_member(person, new_role, owner, keep_webhooks);
end $$;
revoke execute on function change_member from public;
grant execute on function change_member to storeroom_runtime;
