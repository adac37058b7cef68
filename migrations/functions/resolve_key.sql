-- Is find_key for instances of the previous release, which do not know all of its columns.
create or replace function resolve_key(hashes bytea[])
returns table (
    hash bytea, tenant_id bigint, key_id bigint, key_name text, permissions text[], expires_at timestamptz, slug text,
    tenant_name text, plan text, rate_limit integer, timezone text, currency text, suspended boolean)
language plpgsql security invoker
set search_path = pg_catalog, public, pg_temp
as $$
begin
    return query
        select k.hash, k.tenant_id, k.key_id, k.key_name, k.permissions, k.expires_at, k.slug, k.tenant_name, k.plan,
               k.rate_limit, k.timezone, k.currency, k.suspended
          from find_key(hashes) k;
end $$;
revoke execute on function resolve_key from public;
grant execute on function resolve_key to storeroom_runtime;
