-- Returns what a link is for, without using it up. The tenant of an operator's reset is 0.
create or replace function open_link(token bytea)
returns table (purpose text, email text, role text, tenant_id bigint, tenant_name text, expires_at timestamptz)
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select l.purpose, l.email, l.role, coalesce(t.id, 0), coalesce(t.name, ''), l.expires_at
      from one_time_links l
      left join tenants t on t.id = l.tenant_id
     where l.token_hash = token and usable(l)
$$;
revoke execute on function open_link from public;
grant execute on function open_link to storeroom_runtime;
