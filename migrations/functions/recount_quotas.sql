-- A task counts the rows of a tenant with it and adds the difference, because no trigger sees a truncated partition.
-- One statement reads rows and counts, so it misses no transaction.
create or replace function recount_quotas(after_tenant bigint, max_rows integer)
returns table (tenant bigint, changed integer)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    missing record;
begin
    tenant := (
        select t.id
          from (select id from tenants where recount_quotas_at <= now() and (after_tenant >= 0 or id = -after_tenant)
                 order by recount_quotas_at limit 100) t
         where pg_try_advisory_xact_lock(hashtextextended('recount_quotas of tenant ' || t.id, 0))
         limit 1);
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    select p.bytes + r.bytes + f.bytes + k.bytes + d.bytes + v.bytes - q.storage as storage,
           p.count + o.count + u.count + a.count - q.records as records
      into missing
      from read_quota(tenant) q
     cross join (
           select count(*) as count,
                  coalesce(sum(product_bytes(sku, name, description, bin_location, upc, tags, images)), 0)::bigint as bytes
             from products where tenant_id = tenant) p
     cross join (
           select count(*) + coalesce(sum(items), 0) as count from orders where tenant_id = tenant) o
     cross join (select count(*) as count from refunds where tenant_id = tenant) u
     cross join (select count(*) as count from inventory_adjustments where tenant_id = tenant) a
     cross join (
           select coalesce(sum(octet_length(rows) + coalesce(octet_length(result), 0)), 0) as bytes
             from change_plan_parts where tenant_id = tenant) r
     cross join (
           select coalesce(sum(octet_length(bytes)), 0) as bytes from change_plan_files where tenant_id = tenant) f
     cross join (
           select coalesce(sum(octet_length(body)), 0) as bytes from idempotency_keys where tenant_id = tenant) k
     cross join (
           select coalesce(sum(octet_length(response) + coalesce(octet_length(error), 0)), 0)::bigint as bytes
             from webhook_deliveries where tenant_id = tenant) d
     cross join (
           select coalesce(sum(facet_bytes(value)), 0)::bigint as bytes from facet_counts where tenant_id = tenant) v;
    -- Rows of a value that no product has any more have the sum 0, so that to delete them changes no count.
    with unused as (
         select c.facet, c.value, c.status from facet_counts c where c.tenant_id = tenant group by 1, 2, 3 having sum(c.count) = 0
    ), locked as materialized (
         select c.facet, c.value, c.status, c.slot, c.count
           from facet_counts c
           join unused u on u.facet = c.facet and u.value = c.value and u.status = c.status
          where c.tenant_id = tenant
            for update of c skip locked
    ), deleted as (
         delete from facet_counts c
          using locked l
          where c.tenant_id = tenant and c.facet = l.facet and c.value = l.value and c.status = l.status and c.slot = l.slot
            and (l.facet, l.value, l.status) in (
                select facet, value, status from locked group by 1, 2, 3 having sum(count) = 0)
         returning c.value
    )
    select missing.storage - coalesce(sum(facet_bytes(d.value)), 0)::bigint into missing.storage from deleted d;
    update tenants t set recount_quotas_at = now() + interval '24 hours' where t.id = tenant;
    if found then -- the tenant may have been deleted
        perform copy_quota(tenant, missing.storage, missing.records);
    end if;
    perform set_config('app.tenant_id', before, true);
    changed := 1;
    return next;
end $$;
revoke execute on function recount_quotas from public;
grant execute on function recount_quotas to storeroom_runtime;
