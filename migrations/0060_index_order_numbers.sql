-- Numbers never change, so the index for find_orders needs no table of its own. Writes of orders fail while it is built.

-- Requests that wait behind this lock fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '1500ms', true);
    for retries in reverse 20..0 loop
        begin
            lock table orders in share mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

create index orders_search on orders using gin (tenant_id, number gin_trgm_ops) with (gin_pending_list_limit = 256);
