-- Lists the members of the current tenant, for a session of one of them.
create or replace function tenant_members(token bytea)
returns table (user_id bigint, email text, role text, created_at timestamptz)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select u.id, u.email, m.role, m.created_at
      from memberships m
      join users u on u.id = m.user_id
     where m.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint
       and (select acting_member(token, '{owner,admin,viewer}')) is not null
     order by u.email
$$;
revoke execute on function tenant_members from public;
grant execute on function tenant_members to storeroom_runtime;
