-- The products at or below their reorder point, so that the overview does not read all products. 0025 fills it.

-- Requests that wait behind this lock fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '1500ms', true);
    for retries in reverse 20..0 loop
        begin
            lock table products in share row exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

create table low_products (
    tenant_id  bigint not null,
    product_id bigint not null,
    quantity   integer not null,
    primary key (tenant_id, product_id),
    foreign key (tenant_id, product_id) references products (tenant_id, id) on delete cascade
) with (fillfactor = 80);
comment on table low_products is 'Products with quantity <= reorder_point, and their quantity. Triggers on products write it.';
alter table low_products alter tenant_id set statistics 0;
alter table low_products enable row level security;
alter table low_products force row level security;
create policy tenant on low_products
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, update, delete on low_products to storeroom_runtime;

-- The transaction holds the lock of the product, so the row of a product has no other writer.
create function list_low_products() returns trigger
    language plpgsql as $$
begin
    if new.quantity <= new.reorder_point then
        insert into public.low_products (tenant_id, product_id, quantity)
        values (new.tenant_id, new.id, new.quantity)
        on conflict (tenant_id, product_id) do update set quantity = excluded.quantity;
    else
        delete from public.low_products where tenant_id = new.tenant_id and product_id = new.id;
    end if;
    return null;
end $$;
revoke execute on function list_low_products from public;
create trigger list_inserts after insert on products
    for each row when (new.quantity <= new.reorder_point) execute function list_low_products();
create trigger list_updates after update of quantity, reorder_point on products
    for each row when ((old.quantity <= old.reorder_point or new.quantity <= new.reorder_point)
                       and (old.quantity, old.reorder_point) is distinct from (new.quantity, new.reorder_point))
    execute function list_low_products();
