-- The overview reads low_products instead.

-- Requests that wait behind this lock fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '1500ms', true);
    for retries in reverse 20..0 loop
        begin
            lock table products in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

drop index products_reorder;
