-- Drops 15 of the indexes that each write of a product updates. Lists of instances of the earlier release are right
-- without them. Those of a seller, a warehouse or a tag in the order of names, SKUs or prices get slower.

-- Requests that wait behind these locks fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '750ms', true); -- each of two locks
    for retries in reverse 20..0 loop
        begin
            lock table products, product_tags in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

-- Each has a statement of its own: a cluster drops one index at a time.
drop index products_status_created;
drop index products_status_price;
drop index products_status_sku;
drop index products_seller_created;
drop index products_seller_name;
drop index products_seller_price;
drop index products_seller_sku;
drop index products_warehouse_created;
drop index products_warehouse_name;
drop index products_warehouse_price;
drop index products_warehouse_sku;
drop index product_tags_created;
drop index product_tags_name;
drop index product_tags_price;
drop index product_tags_sku;
comment on table product_tags is 'Tags of products, for filters. Triggers on products write it. The other columns are those of the product, so that an index has a tag''s products with the columns of all orders.';
