-- The previous release calls it. Returns files of all tenants that are due for deletion. An instance that fails to delete
-- them tries again after ten minutes.
create or replace function claim_unused_media(max_rows integer) returns table (tenant bigint, file text)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    claimed record;
begin
    tenant := -1;
    while max_rows > 0 loop
        tenant := next_tenant_with_work('claim_unused_media', tenant);
        exit when tenant is null;
        continue when not pg_try_advisory_xact_lock(
            hashtextextended('claim_unused_media in the queue of tenant ' || tenant, 0));
        continue when has_worker('claim_unused_media', tenant); -- since the query
        perform set_config('app.tenant_id', tenant::text, true);
        with seen as (
            delete from tenants_with_work w
             where w.task = 'claim_unused_media' and w.tenant_id = tenant and w.worker is null
        )
        insert into tenants_with_work (tenant_id, task)
        select tenant, 'claim_unused_media'
         where exists (select from unused_media u where u.tenant_id = tenant);
        continue when not found;
        for claimed in
            update unused_media u
               set due = now() + interval '10 minutes'
             where u.tenant_id = tenant
               and u.file in (
                   select d.file
                     from unused_media d
                    where d.tenant_id = tenant and d.due <= now()
                    order by d.due
                    limit max_rows
                      for update skip locked)
         returning u.file
        loop
            file := claimed.file;
            max_rows := max_rows - 1;
            return next;
        end loop;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;
revoke execute on function claim_unused_media from public;
grant execute on function claim_unused_media to storeroom_runtime;
