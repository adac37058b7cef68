-- A change of stock costs less: its row of the ledger no longer looks up its API key. A key is deleted only with its
-- tenant, as is the ledger, and the request that changes stock has proved that its key exists. On a cluster the check
-- remains: when it fails, the name of the key is copied to the shard group.

-- Requests that wait behind the lock fail after two seconds, so it gives up before and tries again.
do $$
begin
    if to_regclass('storeroom_citus.tenants') is not null then
        return;
    end if;
    perform set_config('lock_timeout', '1s', true); -- each of two locks
    for retries in reverse 20..0 loop
        begin
            lock table api_keys, inventory_adjustments in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
    alter table inventory_adjustments drop constraint inventory_adjustments_tenant_id_api_key_id_fkey;
end $$;
