-- As 0062, for tags. Writes of products with tags fail while this index is built.

-- Requests that wait behind these locks fail after two seconds, so it gives up before and tries again. Writers lock
-- products before product_tags, so this does too.
do $$
begin
    perform set_config('lock_timeout', '750ms', true); -- each of two locks
    for retries in reverse 20..0 loop
        begin
            lock table products, product_tags in share mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

create index product_tags_tag on product_tags (tenant_id, tag, status, created_at, product_id) include (price, name, sku);
