-- The change feed: which objects of a tenant changed, in an order that a reader can follow.

-- Triggers are added to these tables. Requests that wait behind these locks fail after two seconds, so it gives up
-- before and tries again.
do $$
begin
    perform set_config('lock_timeout', '150ms', true); -- each of ten locks
    for retries in reverse 20..0 loop
        begin
            lock table tenants, categories, sellers, warehouses, products, channels, customers, orders, cancellations,
                       refunds in share row exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

create table feed_epochs (
    tenant_id  bigint      not null references tenants on delete cascade,
    epoch      bigint      not null,
    system     bigint      not null,
    timeline   text        not null,
    relation   bigint      not null,
    started_at timestamptz not null,
    primary key (tenant_id, epoch)
);
comment on table feed_epochs is 'Histories of transaction ids in which a tenant''s changes were recorded, as Unix times. A promotion of a standby, a restored dump and a move to another node begin a new one, because transaction ids may repeat. feed_epoch writes it.';
comment on column feed_epochs.system is 'The identifier of the database system.';
comment on column feed_epochs.timeline is 'The first 8 digits of the name of a WAL file.';
comment on column feed_epochs.relation is 'The oid of the table changes, which a restored dump and a move to another node create again.';
comment on column feed_epochs.started_at is 'When the server was started that used the epoch last. It is compared with each change, because it costs less than the others.';
alter table feed_epochs alter tenant_id set statistics 0;
alter table feed_epochs enable row level security, force row level security;
create policy tenant on feed_epochs
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, update (started_at) on feed_epochs to storeroom_runtime;

-- feed_epoch returns the epoch of the tenant. It begins a new one if the transaction ids of the database do not
-- continue those of the last epoch.
create function feed_epoch(of_tenant bigint) returns bigint
    language plpgsql as $$
declare
    last public.feed_epochs;
    here public.feed_epochs;
    lock_id constant bigint := hashtextextended('change feed of tenant ' || of_tenant, 0);
begin
    here.relation := 'public.changes'::regclass::oid;
    for tries in 1..2 loop
        select e.* into last from public.feed_epochs e where e.tenant_id = of_tenant order by e.epoch desc limit 1;
        if last.started_at = pg_postmaster_start_time() and last.relation = here.relation then
            return last.epoch;
        end if;
        here.system := (select system_identifier from pg_control_system());
        here.timeline := left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
        if last.system = here.system and last.timeline = here.timeline and last.relation = here.relation then
            -- The server was started again. Transactions that write rows of each other must not wait here.
            if pg_try_advisory_xact_lock(lock_id) then
                update public.feed_epochs e set started_at = pg_postmaster_start_time()
                 where e.tenant_id = of_tenant and e.epoch = last.epoch;
            end if;
            return last.epoch;
        end if;
        -- Another transaction may be beginning the epoch. The second try sees it.
        perform pg_advisory_xact_lock(lock_id);
    end loop;
    here.epoch := greatest(last.epoch + 1, extract(epoch from clock_timestamp())::bigint);
    insert into public.feed_epochs (tenant_id, epoch, system, timeline, relation, started_at)
    values (of_tenant, here.epoch, here.system, here.timeline, here.relation, pg_postmaster_start_time());
    return here.epoch;
end $$;
revoke execute on function feed_epoch from public;
grant execute on function feed_epoch to storeroom_runtime;

-- Partitions are fixed, so that none can be missing when a change is recorded, and none is created or dropped while
-- requests are served. Each has the changes of 10 days, and is emptied before it is used again.
create sequence change_seqs;
comment on sequence change_seqs is 'The order of changes in a transaction.';
create table changes (
    tenant_id  bigint      not null,
    epoch      bigint      not null,
    xid        bigint      not null default pg_current_xact_id()::text::bigint,
    seq        bigint      not null default nextval('change_seqs'),
    at         timestamptz not null default clock_timestamp(),
    api_key_id bigint               default nullif(current_setting('app.key_id', true), '')::bigint,
    slot       smallint    not null
                           default ((clock_timestamp() at time zone 'UTC')::date - date '2000-01-01') / 10 % 12,
    action     text collate "C" not null check (action in ('created', 'updated', 'deleted')),
    types      text[] collate "C" not null,
    changed    text[] collate "C" not null default '{}',
    ids        text[] collate "C" not null,
    primary key (tenant_id, epoch, xid, seq, slot)
) partition by list (slot);
comment on table changes is 'Changes that the feed shows. A row has the objects that one statement changed in the same way: each of types, for each of ids. The order is epoch, xid, seq. Transactions commit in another order, so a reader reads only rows below the oldest running transaction.';
comment on column changes.xid is 'The transaction id. It is not xid8, whose comparisons are not leakproof.';
comment on column changes.slot is 'The partition: the number of the 10 days since 2000-01-01, modulo 12.';
comment on column changes.ids is 'The ids as in the API: numbers of orders and customers, identifiers of channels.';
grant usage on sequence change_seqs to storeroom_runtime;
alter table changes enable row level security, force row level security;
create policy tenant on changes
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert on changes to storeroom_runtime;
alter table changes alter tenant_id set statistics 0;
do $$
begin
    for n in 0..11 loop
        execute format('create table changes_%s partition of changes for values in (%s)', n, n);
        execute format('alter table changes_%s alter tenant_id set statistics 0, alter ids set storage external', n);
        execute format('alter table changes_%s enable row level security, force row level security', n);
        execute format('create policy tenant on changes_%s '
            'using (tenant_id = (select nullif(current_setting(''app.tenant_id'', true), '''')::bigint)) '
            'with check (tenant_id = (select nullif(current_setting(''app.tenant_id'', true), '''')::bigint))', n);
    end loop;
end $$;

create function record_products() returns trigger
    language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select n.tenant_id, public.feed_epoch(n.tenant_id), 'created', '{product,stock}', array_agg(n.id::text)
          from new_rows n
         group by n.tenant_id;
    elsif tg_op = 'DELETE' then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select o.tenant_id, public.feed_epoch(o.tenant_id), 'deleted', '{product,stock}', array_agg(o.id::text)
          from old_rows o
         group by o.tenant_id;
    else
        -- An update of updated_at alone moves stock between warehouses. Each row has a partner, but only a full join is
        -- never a nested loop, which would compare each row with all others.
        insert into public.changes (tenant_id, epoch, action, types, changed, ids)
        select c.tenant_id, public.feed_epoch(c.tenant_id), 'updated',
               case when c.changed && '{quantity,warehouse}' or c.changed = '{updated_at}'
                    then '{product,stock}'::text[] else '{product}' end,
               c.changed, array_agg(c.id::text)
          from (
               select n.tenant_id, n.id, array_remove(array[
                      case when n.sku <> o.sku then 'sku' end,
                      case when n.name <> o.name then 'name' end,
                      case when n.description is distinct from o.description then 'description' end,
                      case when n.price <> o.price then 'price' end,
                      case when n.msrp is distinct from o.msrp then 'msrp' end,
                      case when n.cost is distinct from o.cost then 'cost' end,
                      case when n.status <> o.status then 'status' end,
                      case when n.condition <> o.condition then 'condition' end,
                      case when n.quantity <> o.quantity then 'quantity' end,
                      case when n.reorder_point is distinct from o.reorder_point then 'reorder_point' end,
                      case when n.category_id is distinct from o.category_id then 'category' end,
                      case when n.seller_id is distinct from o.seller_id then 'seller' end,
                      case when n.warehouse_id <> o.warehouse_id then 'warehouse' end,
                      case when n.bin_location is distinct from o.bin_location then 'bin_location' end,
                      case when n.upc is distinct from o.upc then 'upc' end,
                      case when n.tags <> o.tags then 'tags' end,
                      case when n.images <> o.images then 'images' end,
                      case when n.updated_at <> o.updated_at then 'updated_at' end], null) as changed
                 from new_rows n
                 full join old_rows o on o.id = n.id and o.tenant_id = n.tenant_id
               ) c
         where c.changed <> '{}'
         group by c.tenant_id, c.changed;
    end if;
    return null;
end $$;
revoke execute on function record_products from public;
create trigger record_inserts after insert on products
    referencing new table as new_rows for each statement execute function record_products();
create trigger record_updates after update on products
    referencing old table as old_rows new table as new_rows for each statement execute function record_products();
create trigger record_deletes after delete on products
    referencing old table as old_rows for each statement execute function record_products();

-- record_row records a change of a row. The arguments are the type and the column that is the id.
create function record_row() returns trigger
    language plpgsql as $$
declare
    before jsonb := case when tg_op <> 'INSERT' then to_jsonb(old) end;
    after jsonb := case when tg_op <> 'DELETE' then to_jsonb(new) end;
    stored jsonb := coalesce(after, before);
begin
    insert into public.changes (tenant_id, epoch, action, types, changed, ids)
    values ((stored ->> 'tenant_id')::bigint, public.feed_epoch((stored ->> 'tenant_id')::bigint),
            case tg_op when 'INSERT' then 'created' when 'UPDATE' then 'updated' else 'deleted' end, array[tg_argv[0]],
            array(select regexp_replace(key, '_id$', '') -- the warehouse of a channel
                    from jsonb_each(before) b where b.value <> after -> b.key order by key),
            array[stored ->> tg_argv[1]]);
    return null;
end $$;
revoke execute on function record_row from public;
create trigger record_changes after insert or delete or update on categories
    for each row execute function record_row('category', 'id');
create trigger record_changes after insert or delete or update on sellers
    for each row execute function record_row('seller', 'id');
create trigger record_changes after insert or delete or update on warehouses
    for each row execute function record_row('warehouse', 'id');
create trigger record_changes after insert or delete or update on channels
    for each row execute function record_row('channel', 'identifier');

create function record_customers() returns trigger
    language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select n.tenant_id, public.feed_epoch(n.tenant_id), 'created', '{customer}', array_agg(n.number)
          from new_rows n
         group by n.tenant_id;
    elsif tg_op = 'DELETE' then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select o.tenant_id, public.feed_epoch(o.tenant_id), 'deleted', '{customer}', array_agg(o.number)
          from old_rows o
         group by o.tenant_id;
    else
        insert into public.changes (tenant_id, epoch, action, types, changed, ids)
        select c.tenant_id, public.feed_epoch(c.tenant_id), 'updated', '{customer}', c.changed, array_agg(c.number)
          from (
               select n.tenant_id, n.number, array_remove(array[
                      case when n.name is distinct from o.name then 'name' end,
                      case when n.email is distinct from o.email then 'email' end,
                      case when n.erased_at is distinct from o.erased_at then 'erased_at' end], null) as changed
                 from new_rows n
                 full join old_rows o on o.id = n.id and o.tenant_id = n.tenant_id
               ) c
         where c.changed <> '{}'
         group by c.tenant_id, c.changed;
    end if;
    return null;
end $$;
revoke execute on function record_customers from public;
create trigger record_inserts after insert on customers
    referencing new table as new_rows for each statement execute function record_customers();
create trigger record_updates after update on customers
    referencing old table as old_rows new table as new_rows for each statement execute function record_customers();
create trigger record_deletes after delete on customers
    referencing old table as old_rows for each statement execute function record_customers();

-- record_sales records orders, and refunds and cancellations, which change their orders. The argument is the
-- action: created or deleted.
create function record_sales() returns trigger
    language plpgsql as $$
begin
    if tg_table_name = 'orders' then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select c.tenant_id, public.feed_epoch(c.tenant_id), tg_argv[0], '{order}', array_agg(c.number)
          from changed_rows c
         group by c.tenant_id;
        return null;
    elsif tg_table_name = 'refunds' then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select c.tenant_id, public.feed_epoch(c.tenant_id), tg_argv[0], '{refund}', array_agg(c.id::text)
          from changed_rows c
         group by c.tenant_id;
    end if;
    insert into public.changes (tenant_id, epoch, action, types, changed, ids)
    select c.tenant_id, public.feed_epoch(c.tenant_id), 'updated', '{order}', case tg_table_name
           when 'refunds' then '{items,refunded_total,refunds,updated_at}'::text[]
           else '{cancelled_at,status,updated_at}' end, array_agg(o.number)
      from (select distinct tenant_id, order_id from changed_rows) c
     cross join lateral (select number from public.orders where tenant_id = c.tenant_id and id = c.order_id limit 1) o
     group by c.tenant_id;
    return null;
end $$;
revoke execute on function record_sales from public;
create trigger record_inserts after insert on orders
    referencing new table as changed_rows for each statement execute function record_sales('created');
create trigger record_deletes after delete on orders
    referencing old table as changed_rows for each statement execute function record_sales('deleted');
create trigger record_inserts after insert on refunds
    referencing new table as changed_rows for each statement execute function record_sales('created');
create trigger record_deletes after delete on refunds
    referencing old table as changed_rows for each statement execute function record_sales('deleted');
create trigger record_inserts after insert on cancellations
    referencing new table as changed_rows for each statement execute function record_sales('created');
create trigger record_deletes after delete on cancellations
    referencing old table as changed_rows for each statement execute function record_sales('deleted');

-- empty_old_changes empties the partitions whose changes are all older than the days, which are at least 30 and at
-- most 90, and returns their number. A partition is used for 10 days, and again after 120.
create function empty_old_changes(days integer) returns integer
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp set lock_timeout = '500ms' as $$
declare
    now_in integer := ((clock_timestamp() at time zone 'UTC')::date - date '2000-01-01') / 10;
    kept integer := (least(greatest(days, 30), 90) + 9) / 10;
    partition regclass;
    emptied integer := 0;
begin
    perform set_config('citus.enable_manual_changes_to_shards', 'on', true);
    for partition in -- without pg_class, in which Citus hides them
        select i.inhrelid
          from pg_inherits i
         where i.inhparent = 'public.changes'::regclass
           and substring(pg_get_partition_constraintdef(i.inhrelid) from '[0-9]+')::integer
               in (select n % 12 from generate_series(now_in + 2, now_in + 11 - kept) n)
           and pg_relation_size(i.inhrelid) > 0
    loop
        execute format('truncate %s', partition);
        emptied := emptied + 1;
    end loop;
    return emptied;
end $$;
revoke execute on function empty_old_changes from public;
grant execute on function empty_old_changes to storeroom_runtime;
