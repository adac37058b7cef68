-- Returns the epoch of a tenant's changes. It begins a new one if the transaction ids do not continue those of the last
-- one, as after a promotion, a restored dump or a move.
create or replace function feed_epoch(of_tenant bigint) returns bigint
language plpgsql
as $$
declare
    last public.feed_epochs;
    here public.feed_epochs;
    lock_id constant bigint := hashtextextended('change feed of tenant ' || of_tenant, 0);
begin
    here.relation := 'public.changes'::regclass::oid;
    for tries in 1..2 loop
        select e.* into last from public.feed_epochs e where e.tenant_id = of_tenant order by e.epoch desc limit 1;
        if last.started_at = pg_postmaster_start_time() and last.relation = here.relation then
            return last.epoch;
        end if;
        here.system := (select system_identifier from pg_control_system());
        here.timeline := left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
        if last.system = here.system and last.timeline = here.timeline and last.relation = here.relation then
            -- The server was started again. Transactions that write rows of each other must not wait here.
            if pg_try_advisory_xact_lock(lock_id) then
                update public.feed_epochs e set started_at = pg_postmaster_start_time()
                 where e.tenant_id = of_tenant and e.epoch = last.epoch;
            end if;
            return last.epoch;
        end if;
        -- Another transaction may be beginning the epoch. The second try sees it.
        perform pg_advisory_xact_lock(lock_id);
    end loop;
    here.epoch := greatest(last.epoch + 1, extract(epoch from clock_timestamp())::bigint);
    insert into public.feed_epochs (tenant_id, epoch, system, timeline, relation, started_at)
    values (of_tenant, here.epoch, here.system, here.timeline, here.relation, pg_postmaster_start_time());
    return here.epoch;
end $$;
revoke execute on function feed_epoch from public;
grant execute on function feed_epoch to storeroom_runtime;
