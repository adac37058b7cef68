-- Returns what a tenant stores and may store. A limit is null if there is none, or nothing is counted yet.
create or replace function read_quota(of_tenant bigint)
returns table (storage bigint, records bigint, storage_limit bigint, records_limit bigint)
language sql stable
as $$
    select coalesce(sum(c.storage), 0)::bigint, coalesce(sum(c.records), 0)::bigint,
           max(c.storage_limit), max(c.records_limit)
      from (
           select q.storage, q.records, q.storage_limit, q.records_limit
             from public.quota_counts q
            where q.tenant_id = of_tenant
            union all
           select p.storage, p.records, null, null
             from public.product_counts p
            where p.tenant_id = of_tenant
           ) c
$$;
revoke execute on function read_quota from public;
grant execute on function read_quota to storeroom_runtime;
