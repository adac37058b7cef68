-- Gives a member of the current tenant another role, or removes the person if it is null, and ends their sessions and
-- links. Operators call it, and change_member. The outcome says what was done.
create or replace function set_member(person bigint, new_role text, by_person bigint, keep_webhooks boolean)
returns table (email text, before text, outcome text)
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
begin
    -- One at a time, or two owners could remove each other.
    perform from tenants t where t.id = tenant for no key update;
    select u.email, m.role into email, before
      from memberships m join users u on u.id = m.user_id
     where m.tenant_id = tenant and m.user_id = person;
    if not found then
        outcome := 'absent';
    elsif before = 'owner' and new_role is distinct from 'owner'
          and not exists (select from memberships m where m.tenant_id = tenant and m.role = 'owner' and m.user_id <> person) then
        outcome := 'last_owner';
    elsif before = new_role then
        outcome := 'same';
    else
        update one_time_links l set expires_at = 'epoch'
         where l.tenant_id = tenant and (l.made_by = person or new_role is null and l.email = set_member.email);
        if new_role is null then
            delete from memberships m where m.tenant_id = tenant and m.user_id = person;
            perform end_maker('member', person, by_person, keep_webhooks and person is distinct from by_person);
        else
            update memberships m set role = new_role where m.tenant_id = tenant and m.user_id = person;
        end if;
        delete from sessions s where s.user_id = person;
        outcome := 'changed';
    end if;
    return next;
end $$;
revoke execute on function set_member from public;
