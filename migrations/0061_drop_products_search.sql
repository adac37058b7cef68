-- Searches use product_texts. Until its texts are filled, and by instances of the earlier release, a search compares
-- all products of the tenant. In return a change of a price is cheaper from now on.

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

drop index products_search;
comment on table products is 'Products. Prices are in cents. quantity is the sum of the stock in all warehouses. search is what the earlier release compares: a blank, then name, SKU and UPC in lower case, with single blanks between words.';
