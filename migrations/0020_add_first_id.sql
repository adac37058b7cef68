-- The row of a product in sold_products that was stored first. 0021 fills it.

-- Requests that wait behind this lock fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '1500ms', true);
    for retries in reverse 20..0 loop
        begin
            lock table sold_products in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

alter table sold_products add first_id bigint;
comment on column sold_products.first_id is 'The row of the same product that was stored first. It is null in that row. A SKU that the catalog does not have is a product of its own.';
