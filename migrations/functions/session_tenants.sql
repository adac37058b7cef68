-- Lists the tenants of the person of a session, for the choice on pages.
create or replace function session_tenants(token bytea)
returns table (tenant_id bigint, slug text, name text, role text)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select t.id, t.slug, t.name, m.role
      from sessions s
      join memberships m on m.user_id = s.user_id
      join tenants t on t.id = m.tenant_id
     where s.token_hash = token and live(s)
     order by t.name, t.id
$$;
revoke execute on function session_tenants from public;
grant execute on function session_tenants to storeroom_runtime;
