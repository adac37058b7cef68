-- Copies the limits of a tenant to quota_counts, and corrects the counts. tenancy/tenants calls it when a tenant is
-- created or its plan changes, and recount_quotas.
create or replace function copy_quota(of_tenant bigint, more_storage bigint, more_records bigint) returns void
language sql
as $$
    insert into public.quota_counts as c (tenant_id, slot, storage, records, storage_limit, records_limit)
    select t.id, -1, more_storage, more_records,
           case t.plan when 'standard' then 2147483648 when 'professional' then 21474836480 else t.quota_storage end,
           case t.plan when 'standard' then 20000000 when 'professional' then 200000000 else t.quota_records end
      from public.tenants t
     where t.id = of_tenant
        on conflict (tenant_id, slot) do update
       set storage = c.storage + excluded.storage, records = c.records + excluded.records,
           storage_limit = excluded.storage_limit, records_limit = excluded.records_limit
$$;
revoke execute on function copy_quota from public;
