-- Returns the person, the tenant and the role of a session, and keeps it alive. Each request of a page calls it; the
-- tenant is null if the person is no member of it.
create or replace function use_session(token bytea, tenant text)
returns table (
    user_id bigint, email text, confirmed_at timestamptz, role text, tenant_id bigint, slug text, tenant_name text,
    plan text, rate_limit integer, timezone text, currency text, suspended boolean)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    update sessions s set seen_at = now()
     where s.token_hash = token and live(s) and s.seen_at < now() - interval '1 minute';
    return query
        select u.id, u.email, s.confirmed_at, m.role, t.id, t.slug, t.name, t.plan, t.rate_limit, t.timezone, t.currency, t.suspended_at is not null
          from sessions s
          join users u on u.id = s.user_id
          left join (memberships m join tenants t on t.id = m.tenant_id) on m.user_id = s.user_id and t.slug = tenant
         where s.token_hash = token and live(s);
end $$;
revoke execute on function use_session from public;
grant execute on function use_session to storeroom_runtime;
