-- The timelines of the primary, for reads on replicas.

create table timelines (
    system   bigint not null,
    database oid    not null,
    timeline text   not null,
    id       uuid   not null default gen_random_uuid(),
    primary key (system, database, timeline)
);
comment on table timelines is 'Timelines of PostgreSQL in which this database was the primary. A promotion begins a new one. A standby that has not replayed the row of a timeline follows another history. The runtime role has no privilege.';
comment on column timelines.system is 'The identifier of the database system. A dump that is restored elsewhere contains rows of another one.';
comment on column timelines.database is 'The oid of the database, which differs for a copy in the same system.';
comment on column timelines.timeline is 'The first 8 digits of the name of a WAL file.';
comment on column timelines.id is 'Differs for two servers that were promoted to the same timeline.';

-- wal_position returns a position that all acknowledged transactions come before, and the id of the current timeline.
-- The first call in a timeline adds its row, which a standby replays after that position. It fails on a standby.
create function wal_position(out lsn pg_lsn, out timeline_id uuid)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
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

-- has_replayed reports whether this standby has replayed a position of a timeline. It returns null on a primary.
create function has_replayed(lsn pg_lsn, timeline_id uuid) returns boolean
    language sql security definer set search_path = pg_catalog, public, pg_temp as $$
    select case when pg_is_in_recovery()
                then coalesce(pg_last_wal_replay_lsn() >= lsn, false)
                     and exists (select from timelines t where t.id = timeline_id) end
$$;
revoke execute on function has_replayed from public;
grant execute on function has_replayed to storeroom_runtime;
