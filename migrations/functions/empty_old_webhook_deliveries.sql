-- Empties the partition of deliveries that is used next but one, whose rows are at least 30 days old. Instances call it
-- again and again; truncate needs the owner.
create or replace function empty_old_webhook_deliveries() returns integer
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
set lock_timeout = '500ms'
as $$
declare
    unused integer := (((clock_timestamp() at time zone 'UTC')::date - date '2000-01-01') / 10 + 2) % 6;
    partition regclass;
    emptied integer := 0;
begin
    perform set_config('citus.enable_manual_changes_to_shards', 'on', true);
    for partition in -- without pg_class, in which Citus hides them
        select i.inhrelid
          from pg_inherits i
         where i.inhparent = 'public.webhook_deliveries'::regclass
           and substring(pg_get_partition_constraintdef(i.inhrelid) from '[0-9]+')::integer = unused
           and pg_relation_size(i.inhrelid) > 0
    loop
        execute format('truncate %s', partition);
        emptied := emptied + 1;
    end loop;
    if emptied > 0 then -- no trigger counts them
        update tenants set recount_quotas_at = now() where recount_quotas_at > now();
    end if;
    return emptied;
end $$;
revoke execute on function empty_old_webhook_deliveries from public;
grant execute on function empty_old_webhook_deliveries to storeroom_runtime;
