-- Returns a position after all acknowledged transactions, and the timeline. A request that writes remembers it for
-- reads of replicas. It fails on a standby.
create or replace function wal_position(out lsn pg_lsn, out timeline_id uuid) returns record
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    current timelines;
begin
    -- With synchronous_commit = off a transaction is acknowledged before its WAL is flushed.
    lsn := case current_setting('synchronous_commit')
               when 'off' then pg_current_wal_insert_lsn()
               else pg_current_wal_flush_lsn() end;
    select c.system_identifier, d.oid, left(pg_walfile_name(lsn), 8)
      into current.system, current.database, current.timeline
      from pg_control_system() c, pg_database d
     where d.datname = current_database();
    for tries in 1..2 loop
        select t.id into timeline_id
          from timelines t
         where t.system = current.system and t.database = current.database and t.timeline = current.timeline;
        exit when found;
        insert into timelines (system, database, timeline)
        values (current.system, current.database, current.timeline)
            on conflict do nothing;
    end loop;
end $$;
revoke execute on function wal_position from public;
grant execute on function wal_position to storeroom_runtime;
