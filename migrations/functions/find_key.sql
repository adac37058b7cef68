-- Returns the live key that belongs to one of the hashes, one for each pepper. Package keys calls it for a request
-- whose key is not cached, before the tenant is known.
create or replace function find_key(hashes bytea[])
returns table (
    hash bytea, tenant_id bigint, key_id bigint, key_name text, permissions text[], expires_at timestamptz, slug text,
    tenant_name text, plan text, rate_limit integer, timezone text, currency text, suspended boolean, origins text[])
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    h      key_hashes;
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    select * into h from key_hashes k where k.hash = any (hashes) limit 1;
    if not found then
        return;
    end if;
    perform set_config('app.tenant_id', h.tenant_id::text, true);
    return query
        select h.hash, k.tenant_id, k.id, k.name, k.permissions, k.expires_at,
               t.slug, t.name, t.plan, t.rate_limit, t.timezone, t.currency, t.suspended_at is not null, t.origins
          from api_keys k
          join tenants t on t.id = k.tenant_id
         where k.tenant_id = h.tenant_id and k.id = h.key_id
           and k.revoked_at is null
           and (k.expires_at is null or k.expires_at > now());
    perform set_config('app.tenant_id', before, true);
end $$;
revoke execute on function find_key from public;
grant execute on function find_key to storeroom_runtime;
