-- Fails if a quota does not allow what a statement stored, or the disk is nearly full (app.disk_reserve). Requests that
-- are never refused set app.never_refused.
create or replace function check_quota(of_tenant bigint, more_storage bigint, more_records bigint) returns void
language plpgsql
as $$
declare
    quota record;
begin
    if (more_storage > 0 or more_records > 0) and current_setting('app.never_refused', true) is distinct from 'on' then
        if current_setting('app.disk_reserve', true) = 'reached' then
            raise 'only the reserve of disk space is left' using errcode = 'disk_full';
        end if;
        select * into quota from public.read_quota(of_tenant);
        if more_storage > 0 and quota.storage > quota.storage_limit then
            raise 'the quota of storage is exceeded' using errcode = 'SR006',
                detail = format('storage %s %s', quota.storage - more_storage, quota.storage_limit);
        elsif more_records > 0 and quota.records > quota.records_limit then
            raise 'the quota of records is exceeded' using errcode = 'SR006',
                detail = format('records %s %s', quota.records - more_records, quota.records_limit);
        end if;
    end if;
end $$;
revoke execute on function check_quota from public;
grant execute on function check_quota to storeroom_runtime;
