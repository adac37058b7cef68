-- Empties the partitions of the feed whose changes are older than the days. Instances call it again and again; truncate
-- needs the owner.
create or replace function empty_old_changes(days integer) returns integer
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
set lock_timeout = '500ms'
as $$
declare
    now_in integer := ((clock_timestamp() at time zone 'UTC')::date - date '2000-01-01') / 10;
    kept integer := (least(greatest(days, 30), 90) + 9) / 10;
    partition regclass;
    emptied integer := 0;
begin
    perform set_config('citus.enable_manual_changes_to_shards', 'on', true);
    for partition in -- without pg_class, in which Citus hides them
        select i.inhrelid
          from pg_inherits i
         where i.inhparent = 'public.changes'::regclass
           and substring(pg_get_partition_constraintdef(i.inhrelid) from '[0-9]+')::integer
               in (select n % 12 from generate_series(now_in + 2, now_in + 11 - kept) n)
           and pg_relation_size(i.inhrelid) > 0
    loop
        execute format('truncate %s', partition);
        emptied := emptied + 1;
    end loop;
    return emptied;
end $$;
revoke execute on function empty_old_changes from public;
grant execute on function empty_old_changes to storeroom_runtime;
