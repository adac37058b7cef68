-- Counts what a statement stored or deleted. It fails only if that is refusable, see check_quota.
create or replace function add_to_quota(
    of_tenant bigint, more_storage bigint, more_records bigint, refusable boolean) returns void
language plpgsql
as $$
begin
    if more_storage <> 0 or more_records <> 0 then -- otherwise null: the statement has no rows
        insert into public.quota_counts as c (tenant_id, slot, storage, records)
        values (of_tenant, public.take_slot(of_tenant), more_storage, more_records)
            on conflict (tenant_id, slot) do update
           set storage = c.storage + excluded.storage, records = c.records + excluded.records;
        if refusable then
            perform public.check_quota(of_tenant, more_storage, more_records);
        end if;
    end if;
end $$;
revoke execute on function add_to_quota from public;
grant execute on function add_to_quota to storeroom_runtime;
