-- Writes of products and of stock cost less. In each statement, PostgreSQL parses the checks of a table and the
-- conditions of its triggers, so these are few and short. The checks accept the same rows as before; therefore the rows
-- are not checked again.

-- Requests that wait behind these locks fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '500ms', true); -- each of three locks
    for retries in reverse 20..0 loop
        begin
            lock table products, inventory_adjustments, api_keys in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

-- Citus adds a constraint only alone.
alter table products
    drop constraint products_price_check,
    drop constraint products_msrp_check,
    drop constraint products_cost_check,
    drop constraint products_quantity_check,
    drop constraint products_reorder_point_check,
    drop constraint products_status_check,
    drop constraint products_condition_check;
alter table products add constraint products_amounts_check
    check (least(price, msrp, cost) >= 0 and greatest(price, msrp, cost) <= 999999999999) not valid;
alter table products add constraint products_quantities_check
    check (least(quantity, reorder_point) >= 0) not valid;
alter table products add constraint products_choices_check
    check (status = any ('{active,draft}')
           and condition = any ('{new,like_new,used,refurbished,for_parts}')) not valid;

alter table inventory_adjustments
    drop constraint inventory_adjustments_type_check,
    drop constraint inventory_adjustments_reason_check;
alter table inventory_adjustments add constraint inventory_adjustments_check
    check (type = any ('{add,remove,set}') and reason = any ('{sale,cancellation,refund}')
           and (reason is null) = (order_number is null)) not valid;

-- A key is deleted only with its tenant, as is the ledger, and the request that changes stock has proved that its key
-- exists. On a cluster the check remains: when it fails, the name of the key is copied to the shard group.
do $$
begin
    if to_regclass('storeroom_citus.tenants') is null then
        alter table inventory_adjustments drop constraint inventory_adjustments_tenant_id_api_key_id_fkey;
    end if;
end $$;

create or replace function list_low_products() returns trigger
    language plpgsql as $$
begin
    if tg_op = 'UPDATE' then
        if (old.quantity, old.reorder_point) is not distinct from (new.quantity, new.reorder_point) then
            return null;
        end if;
    end if;
    if new.quantity <= new.reorder_point then
        insert into public.low_products (tenant_id, product_id, quantity)
        values (new.tenant_id, new.id, new.quantity)
        on conflict (tenant_id, product_id) do update set quantity = excluded.quantity;
    else
        delete from public.low_products where tenant_id = new.tenant_id and product_id = new.id;
    end if;
    return null;
end $$;
create or replace trigger list_updates after update of quantity, reorder_point on products
    for each row when (old.quantity <= old.reorder_point or new.quantity <= new.reorder_point)
    execute function list_low_products();
