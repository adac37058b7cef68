-- Lists the links of the current tenant that can still be used, for a session of an owner, and those that invite clerks
-- and accountants for one of an admin.
create or replace function tenant_links(token bytea)
returns table (
    id bigint, purpose text, email text, role text, made_by text, created_at timestamptz, expires_at timestamptz)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select l.id, l.purpose, l.email, l.role, coalesce(u.email, 'operator'), l.created_at, l.expires_at
      from one_time_links l
      left join users u on u.id = l.made_by
     where l.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint and usable(l)
       and ((select acting_member(token, '{owner}')) is not null
            or may_invite(l.purpose, l.role) and (select acting_member(token, '{admin}')) is not null)
     order by l.id
$$;
revoke execute on function tenant_links from public;
grant execute on function tenant_links to storeroom_runtime;
