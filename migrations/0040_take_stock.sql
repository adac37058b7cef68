-- Orders take their items from stock if their channel says so.

-- Requests that wait behind these locks fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '300ms', true); -- each of five locks
    for retries in reverse 20..0 loop
        begin
            lock table warehouses, channels, orders, order_items, inventory_adjustments in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

-- The migrator may not skip policies, and the new columns are null.
set local row_security = on;

alter table channels
    add takes_stock boolean not null default false,
    add when_short text collate "C" not null default 'refuse',
    add warehouse_id bigint;
alter table channels add constraint channels_when_short_check check (when_short in ('refuse', 'accept'));
alter table channels add constraint channels_tenant_id_warehouse_id_fkey
    foreign key (tenant_id, warehouse_id) references warehouses (tenant_id, id);
comment on column channels.takes_stock is 'Whether orders take their items from stock.';
comment on column channels.when_short is 'What happens to an order of more than there is in stock: refuse, or accept and mark as short.';
comment on column channels.warehouse_id is 'The warehouse that orders take from; null is that of each product.';

alter table orders add short boolean not null default false;
comment on column orders.short is 'Whether the order took less from stock than it has items.';

-- A validation would read the whole ledger under the lock.
alter table inventory_adjustments
    add order_number text collate "C",
    add reason text collate "C";
alter table inventory_adjustments add constraint inventory_adjustments_reason_check
    check (reason in ('sale', 'cancellation', 'refund') and (reason is null) = (order_number is null)) not valid;
comment on column inventory_adjustments.order_number is 'The order that changed the stock.';
comment on column inventory_adjustments.reason is 'Why an order changed the stock.';

create table taken_stock (
    tenant_id    bigint  not null,
    order_id     bigint  not null,
    product_id   bigint  not null,
    warehouse_id bigint  not null,
    line         integer not null,
    taken        integer not null check (taken > 0),
    returned     integer not null default 0,
    archived     boolean not null default false,
    primary key (tenant_id, order_id, line),
    foreign key (tenant_id, order_id, line) references order_items (tenant_id, order_id, line) on delete cascade,
    check (returned between 0 and taken)
) with (fillfactor = 90);
comment on table taken_stock is 'What items of orders took from stock, and how much of it cancellations and refunds have returned. Rows outlive the product and the warehouse, so they have no foreign key to them.';
comment on column taken_stock.archived is 'Whether the row is of an archive, so that the ledger of another tenant has the sale.';
alter table taken_stock alter tenant_id set statistics 0, alter warehouse_id set statistics 0;
alter table taken_stock enable row level security, force row level security;
create policy tenant on taken_stock
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, update (returned) on taken_stock to storeroom_runtime;
