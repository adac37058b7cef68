-- Whether this standby has replayed a position of a timeline, so that it can answer a read. It returns null on a
-- primary.
create or replace function has_replayed(lsn pg_lsn, timeline_id uuid) returns boolean
language sql security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select case when pg_is_in_recovery()
                then coalesce(pg_last_wal_replay_lsn() >= lsn, false)
                     and exists (select from timelines t where t.id = timeline_id) end
$$;
revoke execute on function has_replayed from public;
grant execute on function has_replayed to storeroom_runtime;
