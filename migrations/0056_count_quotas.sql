-- Counts what each tenant stores, and refuses what would exceed its quotas. Triggers count, so that rows which instances
-- of the earlier version write count too. Nothing is refused until recount_quotas has counted the rows of a tenant.

-- PostgreSQL checks the bodies of functions.
set local row_security = on;

-- Requests that wait behind these locks fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '120ms', true); -- each of fifteen locks, with those of partitions
    for retries in reverse 20..0 loop
        begin
            lock table tenants in access exclusive mode;
            lock table product_counts, facet_counts in access exclusive mode;
            lock table products, inventory_adjustments, change_plan_parts, change_plan_files, idempotency_keys,
                       webhook_deliveries in share row exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

alter table tenants
    add quota_storage bigint check (quota_storage > 0),
    add quota_records bigint check (quota_records > 0),
    add recount_quotas_at timestamptz not null default now() + interval '1 hour';
comment on column tenants.quota_storage is 'Bytes that a tenant of the plan enterprise may store; null is no limit. Other plans have fixed quotas.';
comment on column tenants.quota_records is 'Records that a tenant of the plan enterprise may store; null is no limit.';
comment on column tenants.recount_quotas_at is 'When recount_quotas visits the tenant next. The default leaves an hour to restart the instances of the earlier version, which do not know the error of a quota.';
create index tenants_recount_quotas on tenants (recount_quotas_at);

alter table product_counts
    add storage bigint not null default 0,
    add records bigint not null default 0;
comment on column product_counts.storage is 'Bytes of inserted products less those of deleted ones. With quota_counts it is what the tenant stores.';
comment on column product_counts.records is 'Products, and rows of the ledger that a statement wrote with its product. With quota_counts they are the records.';

alter table facet_counts add is_stored boolean not null default false;
comment on column facet_counts.is_stored is 'False until the row is written again: a statement sees which rows it has added. Views of shards have no system columns.';

create table quota_counts (
    tenant_id     bigint   not null,
    slot          smallint not null,
    storage       bigint   not null,
    records       bigint   not null,
    storage_limit bigint,
    records_limit bigint,
    primary key (tenant_id, slot)
) with (fillfactor = 50);
comment on table quota_counts is 'What a tenant stores, with product_counts: the sum of all slots, which are those of product_counts. The slot -1 has the limits and what recount_quotas corrected; a tenant without it is not counted yet. Triggers write it, also while a tenant is being deleted, so it has no foreign key.';
comment on column quota_counts.storage_limit is 'The quota, copied from the tenant so that the check reads no other table. Null is no limit.';
comment on column quota_counts.storage is 'Bytes of products with their pictures, of rows and files of change plans, of stored responses and of webhook deliveries.';
comment on column quota_counts.records is 'Number of products, orders, items, refunds and rows of the ledger.';
alter table quota_counts alter tenant_id set statistics 0;
alter table quota_counts enable row level security, force row level security;
create policy tenant on quota_counts
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, update on quota_counts to storeroom_runtime;

-- image_bytes and product_bytes count what was sent, as catalog.Product.bytes does.
create function image_bytes(images jsonb) returns bigint
    language sql immutable as $$
    select coalesce(sum(octet_length(coalesce(i ->> 'url', '')) + coalesce((i ->> 'bytes')::bigint, 0)), 0)::bigint
      from jsonb_array_elements(images) i
$$;
revoke execute on function image_bytes from public;
grant execute on function image_bytes to storeroom_runtime;

create function product_bytes(
    sku text, name text, description text, bin_location text, upc text, tags text[], images jsonb
) returns bigint
    language sql stable as $$
    select octet_length(sku) + octet_length(name) + coalesce(octet_length(description), 0)
           + coalesce(octet_length(bin_location), 0) + coalesce(octet_length(upc), 0)
           + octet_length(array_to_string(tags, ''))
           + case when images = '[]' then 0 else public.image_bytes(images) end
$$;
revoke execute on function product_bytes from public;
grant execute on function product_bytes to storeroom_runtime;

create function delivery_bytes(response text, error text) returns bigint
    language sql immutable as $$
    select (octet_length(response) + coalesce(octet_length(error), 0))::bigint
$$;
revoke execute on function delivery_bytes from public;
grant execute on function delivery_bytes to storeroom_runtime;

-- facet_bytes is the size of a row of facet_counts: a tenant that writes new tags again and again adds rows, which
-- recount_quotas deletes. PostgreSQL needs about 100 bytes beside the value, for the row and its entry in the index.
create function facet_bytes(value text) returns bigint
    language sql immutable as $$
    select (octet_length(value) + 100)::bigint
$$;
revoke execute on function facet_bytes from public;
grant execute on function facet_bytes to storeroom_runtime;

-- take_slot returns a slot that no other transaction writes until this one ends. It waits only if all are taken.
create function take_slot(of_tenant bigint) returns smallint
    language plpgsql as $$
declare
    own constant integer := pg_backend_pid() % 64;
begin
    for i in own..own + 63 loop
        if pg_try_advisory_xact_lock(hashint8extended(of_tenant, i % 64)) then
            return i % 64;
        end if;
    end loop;
    perform pg_advisory_xact_lock(hashint8extended(of_tenant, own));
    return own;
end $$;
revoke execute on function take_slot from public;
grant execute on function take_slot to storeroom_runtime;

-- read_quota returns what a tenant stores and may store. A limit is null if there is none, or nothing is counted yet.
create function read_quota(of_tenant bigint)
    returns table (storage bigint, records bigint, storage_limit bigint, records_limit bigint)
    language sql stable as $$
    select coalesce(sum(c.storage), 0)::bigint, coalesce(sum(c.records), 0)::bigint,
           max(c.storage_limit), max(c.records_limit)
      from (
           select q.storage, q.records, q.storage_limit, q.records_limit
             from public.quota_counts q
            where q.tenant_id = of_tenant
            union all
           select p.storage, p.records, null, null
             from public.product_counts p
            where p.tenant_id = of_tenant
           ) c
$$;
revoke execute on function read_quota from public;
grant execute on function read_quota to storeroom_runtime;

-- copy_quota copies the limits of a tenant, and corrects the counts.
create function copy_quota(of_tenant bigint, more_storage bigint, more_records bigint) returns void
    language sql as $$
    insert into public.quota_counts as c (tenant_id, slot, storage, records, storage_limit, records_limit)
    select t.id, -1, more_storage, more_records,
           case t.plan when 'standard' then 2147483648 when 'professional' then 21474836480 else t.quota_storage end,
           case t.plan when 'standard' then 20000000 when 'professional' then 200000000 else t.quota_records end
      from public.tenants t
     where t.id = of_tenant
        on conflict (tenant_id, slot) do update
       set storage = c.storage + excluded.storage, records = c.records + excluded.records,
           storage_limit = excluded.storage_limit, records_limit = excluded.records_limit
$$;
revoke execute on function copy_quota from public;

-- check_quota fails if a quota does not allow what a statement has stored, or the disk is nearly full: instances that know
-- the size of the database set app.disk_reserve. Requests that are never refused set app.never_refused.
create function check_quota(of_tenant bigint, more_storage bigint, more_records bigint) returns void
    language plpgsql as $$
declare
    quota record;
begin
    if (more_storage > 0 or more_records > 0) and current_setting('app.never_refused', true) is distinct from 'on' then
        if current_setting('app.disk_reserve', true) = 'reached' then
            raise 'only the reserve of disk space is left' using errcode = 'disk_full';
        end if;
        select * into quota from public.read_quota(of_tenant);
        if more_storage > 0 and quota.storage > quota.storage_limit then
            raise 'the quota of storage is exceeded' using errcode = 'SR006',
                detail = format('storage %s %s', quota.storage - more_storage, quota.storage_limit);
        elsif more_records > 0 and quota.records > quota.records_limit then
            raise 'the quota of records is exceeded' using errcode = 'SR006',
                detail = format('records %s %s', quota.records - more_records, quota.records_limit);
        end if;
    end if;
end $$;
revoke execute on function check_quota from public;
grant execute on function check_quota to storeroom_runtime;

-- add_to_quota counts what a statement stored or deleted. It fails only if that is refusable: see check_quota.
create function add_to_quota(of_tenant bigint, more_storage bigint, more_records bigint, refusable boolean) returns void
    language plpgsql as $$
begin
    if more_storage <> 0 or more_records <> 0 then -- otherwise null: the statement has no rows
        insert into public.quota_counts as c (tenant_id, slot, storage, records)
        values (of_tenant, public.take_slot(of_tenant), more_storage, more_records)
            on conflict (tenant_id, slot) do update
           set storage = c.storage + excluded.storage, records = c.records + excluded.records;
        if refusable then
            perform public.check_quota(of_tenant, more_storage, more_records);
        end if;
    end if;
end $$;
revoke execute on function add_to_quota from public;
grant execute on function add_to_quota to storeroom_runtime;

-- count_products also counts for the quotas: the rows that lists need and those of quotas are the same. A new value of a
-- facet is storage too.
create or replace function count_products() returns trigger
    language plpgsql as $$
declare
    backend_slot smallint;
    total record;
    facet_storage bigint;
begin
    if tg_op = 'INSERT' then
        select public.take_slot(n.tenant_id) into backend_slot from new_rows n limit 1;
        -- A statement that writes the row of the ledger with its product sets app.counted, so that no trigger of the
        -- ledger is needed.
        with facets as (
             insert into public.facet_counts as c (tenant_id, facet, value, status, slot, count)
             select n.tenant_id, f.facet, f.value, n.status, backend_slot, count(*)
               from new_rows n
              cross join lateral public.facets(n.category_id, n.seller_id, n.warehouse_id, n.tags) f
              group by 1, 2, 3, 4
             on conflict (tenant_id, facet, value, status, slot) do update
                set count = c.count + excluded.count, is_stored = true
             returning value, not is_stored as is_new
        ), added as materialized (
             select n.tenant_id, n.status, count(*) as count,
                    count(*) + case when current_setting('app.counted', true) = statement_timestamp()::text
                                    then count(*) filter (where n.quantity > 0) else 0 end as records,
                    sum(public.product_bytes(
                        n.sku, n.name, n.description, n.bin_location, n.upc, n.tags, n.images))::bigint
                    + case when row_number() over () = 1
                           then coalesce((select sum(public.facet_bytes(value)) from facets where is_new), 0)::bigint
                           else 0 end as storage
               from new_rows n
              group by 1, 2
        ), counted as (
             insert into public.product_counts as c (tenant_id, slot, status, count, storage, records)
             select a.tenant_id, backend_slot, a.status, a.count, a.storage, a.records from added a
             on conflict (tenant_id, slot, status) do update
                set count = c.count + excluded.count, storage = c.storage + excluded.storage,
                    records = c.records + excluded.records
        )
        select min(a.tenant_id) as tenant, sum(a.storage)::bigint as storage, sum(a.records)::bigint as records
          into total
          from added a;
        perform public.check_quota(total.tenant, total.storage, total.records);
    elsif tg_op = 'DELETE' then
        select public.take_slot(o.tenant_id) into backend_slot from old_rows o limit 1;
        with facets as (
             insert into public.facet_counts as c (tenant_id, facet, value, status, slot, count)
             select o.tenant_id, f.facet, f.value, o.status, backend_slot, -count(*)
               from old_rows o
              cross join lateral public.facets(o.category_id, o.seller_id, o.warehouse_id, o.tags) f
              group by 1, 2, 3, 4
             on conflict (tenant_id, facet, value, status, slot) do update
                set count = c.count + excluded.count, is_stored = true
             returning value, not is_stored as is_new
        )
        insert into public.product_counts as c (tenant_id, slot, status, count, storage, records)
        select o.tenant_id, backend_slot, o.status, -count(*),
               case when row_number() over () = 1
                    then coalesce((select sum(public.facet_bytes(value)) from facets where is_new), 0)::bigint
                    else 0 end
               - sum(public.product_bytes(o.sku, o.name, o.description, o.bin_location, o.upc, o.tags, o.images))::bigint,
               -count(*)
          from old_rows o
         group by 1, 3
        on conflict (tenant_id, slot, status) do update
           set count = c.count + excluded.count, storage = c.storage + excluded.storage,
               records = c.records + excluded.records;
    else
        backend_slot := public.take_slot(new.tenant_id);
        if old.status <> new.status then
            insert into public.product_counts as c (tenant_id, slot, status, count)
            values (new.tenant_id, backend_slot, old.status, -1), (new.tenant_id, backend_slot, new.status, 1)
            on conflict (tenant_id, slot, status) do update set count = c.count + excluded.count;
        end if;
        with facets as (
             insert into public.facet_counts as c (tenant_id, facet, value, status, slot, count)
             select new.tenant_id, f.facet, f.value, f.status, backend_slot, sum(f.count)
               from (
                    select facet, value, old.status as status, -1 as count
                      from public.facets(old.category_id, old.seller_id, old.warehouse_id, old.tags)
                     union all
                    select facet, value, new.status, 1
                      from public.facets(new.category_id, new.seller_id, new.warehouse_id, new.tags)
                    ) f
              group by 2, 3, 4
             having sum(f.count) <> 0
             on conflict (tenant_id, facet, value, status, slot) do update
                set count = c.count + excluded.count, is_stored = true
             returning value, not is_stored as is_new
        )
        select sum(public.facet_bytes(value)) into facet_storage from facets where is_new;
        perform public.add_to_quota(new.tenant_id, facet_storage, 0, true);
    end if;
    return null;
end $$;

-- record_products also counts by how much products grow. A statement that records its change itself changes one product:
-- count_quota_of_row counts it.
create or replace function record_products() returns trigger
    language plpgsql as $$
declare
    grown record;
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
        with compared as materialized (
             select n.tenant_id, n.id,
                    public.product_bytes(n.sku, n.name, n.description, n.bin_location, n.upc, n.tags, n.images)
                    - public.product_bytes(o.sku, o.name, o.description, o.bin_location, o.upc, o.tags, o.images) as bytes,
                    array_remove(array[
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
        ), recorded as (
             insert into public.changes (tenant_id, epoch, action, types, changed, ids)
             select c.tenant_id, public.feed_epoch(c.tenant_id), 'updated',
                    case when c.changed && '{quantity,warehouse}' or c.changed = '{updated_at}'
                         then '{product,stock}'::text[] else '{product}' end,
                    c.changed, array_agg(c.id::text)
               from compared c
              where c.changed <> '{}'
              group by c.tenant_id, c.changed
        )
        select min(c.tenant_id) as tenant, sum(c.bytes)::bigint as bytes into grown from compared c;
        perform public.add_to_quota(grown.tenant, grown.bytes, 0, grown.bytes > 0);
    end if;
    return null;
end $$;

-- record_sales also counts orders with their items, and refunds. Only new orders can be refused.
create or replace function record_sales() returns trigger
    language plpgsql as $$
declare
    sign constant integer := case tg_argv[0] when 'created' then 1 else -1 end;
begin
    if tg_table_name = 'orders' then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select c.tenant_id, public.feed_epoch(c.tenant_id), tg_argv[0], '{order}', array_agg(c.number)
          from changed_rows c
         group by c.tenant_id;
        perform public.add_to_quota(min(c.tenant_id), 0, sign * (count(*) + sum(c.items)), tg_argv[0] = 'created')
           from changed_rows c;
        return null;
    elsif tg_table_name = 'refunds' then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select c.tenant_id, public.feed_epoch(c.tenant_id), tg_argv[0], '{refund}', array_agg(c.id::text)
          from changed_rows c
         group by c.tenant_id;
        perform public.add_to_quota(min(c.tenant_id), 0, sign * count(*), false) from changed_rows c;
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

-- count_quota counts the rows of a statement: deleted ones, changed deliveries, and new ones of the ledger. Only a row of
-- the ledger that no order writes can be refused.
create function count_quota() returns trigger
    language plpgsql as $$
begin
    case tg_argv[0] -- rows of partitions have other names of tables
    when 'inventory_adjustments' then
        perform public.add_to_quota(min(c.tenant_id), 0, count(*), bool_or(c.reason is null)) from changed_rows c;
    when 'change_plan_parts' then
        perform public.add_to_quota(
                    min(c.tenant_id), -sum(octet_length(c.rows) + coalesce(octet_length(c.result), 0)), 0, false)
           from changed_rows c;
    when 'change_plan_files' then
        perform public.add_to_quota(min(c.tenant_id), -sum(octet_length(c.bytes)), 0, false) from changed_rows c;
    when 'idempotency_keys' then
        perform public.add_to_quota(min(c.tenant_id), -sum(coalesce(octet_length(c.body), 0)), 0, false)
           from changed_rows c;
    when 'webhook_deliveries' then
        perform public.add_to_quota(
                    min(c.tenant_id), (case tg_op when 'INSERT' then 1 else -1 end
                                       * sum(public.delivery_bytes(c.response, c.error)))::bigint, 0, false)
           from changed_rows c;
        if tg_op = 'UPDATE' then
            perform public.add_to_quota(min(c.tenant_id), sum(public.delivery_bytes(c.response, c.error))::bigint, 0, false)
               from new_rows c;
        end if;
    end case;
    return null;
end $$;
revoke execute on function count_quota from public;

-- count_quota_of_row counts one row, of which a statement inserts or updates only one. Rows and files of new plans, a
-- product that grows, and the response of a request can be refused.
create function count_quota_of_row() returns trigger
    language plpgsql as $$
declare
    bytes bigint;
    refusable boolean := false;
begin
    case tg_argv[0] -- rows of partitions have other names of tables
    when 'products' then
        if current_setting('app.recorded', true) is distinct from statement_timestamp()::text then
            return null; -- record_products counts
        end if;
        bytes := public.product_bytes(new.sku, new.name, new.description, new.bin_location, new.upc, new.tags, new.images)
                 - public.product_bytes(old.sku, old.name, old.description, old.bin_location, old.upc, old.tags, old.images);
        refusable := bytes > 0;
    when 'change_plan_parts' then
        bytes := octet_length(new.rows) + coalesce(octet_length(new.result), 0);
        if tg_op = 'UPDATE' then
            bytes := bytes - octet_length(old.rows) - coalesce(octet_length(old.result), 0);
        end if;
        refusable := tg_op = 'INSERT';
    when 'change_plan_files' then
        bytes := octet_length(new.bytes);
        refusable := true;
    when 'idempotency_keys' then
        bytes := coalesce(octet_length(new.body), 0) - coalesce(octet_length(old.body), 0);
        refusable := bytes > 0;
    end case;
    perform public.add_to_quota(new.tenant_id, bytes, 0, refusable);
    return null;
end $$;
revoke execute on function count_quota_of_row from public;

create trigger count_quota_rows after update of sku, name, description, bin_location, upc, tags, images on products
    for each row when (
        octet_length(new.sku) <> octet_length(old.sku)
        or octet_length(new.name) <> octet_length(old.name)
        or new.description is distinct from old.description
        or new.bin_location is distinct from old.bin_location
        or new.upc is distinct from old.upc
        or new.tags <> old.tags
        or new.images <> old.images)
    execute function count_quota_of_row('products');
create trigger count_quota_inserts after insert on inventory_adjustments
    referencing new table as changed_rows for each statement
    when (current_setting('app.counted', true) is distinct from statement_timestamp()::text)
    execute function count_quota('inventory_adjustments');
create trigger count_quota_rows after insert or update of rows, result on change_plan_parts
    for each row execute function count_quota_of_row('change_plan_parts');
create trigger count_quota_deletes after delete on change_plan_parts
    referencing old table as changed_rows for each statement execute function count_quota('change_plan_parts');
create trigger count_quota_rows after insert on change_plan_files
    for each row execute function count_quota_of_row('change_plan_files');
create trigger count_quota_deletes after delete on change_plan_files
    referencing old table as changed_rows for each statement execute function count_quota('change_plan_files');
create trigger count_quota_rows after update of body on idempotency_keys
    for each row execute function count_quota_of_row('idempotency_keys');
create trigger count_quota_deletes after delete on idempotency_keys
    referencing old table as changed_rows for each statement execute function count_quota('idempotency_keys');
create trigger count_quota_inserts after insert on webhook_deliveries
    referencing new table as changed_rows for each statement execute function count_quota('webhook_deliveries');
create trigger count_quota_updates after update on webhook_deliveries
    referencing old table as changed_rows new table as new_rows
    for each statement execute function count_quota('webhook_deliveries');
create trigger count_quota_deletes after delete on webhook_deliveries
    referencing old table as changed_rows for each statement execute function count_quota('webhook_deliveries');

-- recount_quotas counts the rows of the next tenant. One statement compares them with the counts, so that it misses no
-- transaction, and the difference is added, so that no transaction waits. It locks and writes rows last, because readers
-- of changes wait for a transaction that has done so.
create function recount_quotas(after_tenant bigint, max_rows integer) returns table (tenant bigint, changed integer)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    missing record;
begin
    tenant := (
        select t.id
          from (select id from tenants where recount_quotas_at <= now() order by recount_quotas_at limit 100) t
         where pg_try_advisory_xact_lock(hashtextextended('recount_quotas of tenant ' || t.id, 0))
         limit 1);
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    select p.bytes + r.bytes + f.bytes + k.bytes + d.bytes + v.bytes - q.storage as storage,
           p.count + o.count + u.count + a.count - q.records as records
      into missing
      from read_quota(tenant) q
     cross join (
           select count(*) as count,
                  coalesce(sum(product_bytes(sku, name, description, bin_location, upc, tags, images)), 0)::bigint as bytes
             from products where tenant_id = tenant) p
     cross join (
           select count(*) + coalesce(sum(items), 0) as count from orders where tenant_id = tenant) o
     cross join (select count(*) as count from refunds where tenant_id = tenant) u
     cross join (select count(*) as count from inventory_adjustments where tenant_id = tenant) a
     cross join (
           select coalesce(sum(octet_length(rows) + coalesce(octet_length(result), 0)), 0) as bytes
             from change_plan_parts where tenant_id = tenant) r
     cross join (
           select coalesce(sum(octet_length(bytes)), 0) as bytes from change_plan_files where tenant_id = tenant) f
     cross join (
           select coalesce(sum(octet_length(body)), 0) as bytes from idempotency_keys where tenant_id = tenant) k
     cross join (
           select coalesce(sum(delivery_bytes(response, error)), 0)::bigint as bytes
             from webhook_deliveries where tenant_id = tenant) d
     cross join (
           select coalesce(sum(facet_bytes(value)), 0)::bigint as bytes from facet_counts where tenant_id = tenant) v;
    -- Rows of a value that no product has any more have the sum 0, so that to delete them changes no count.
    with unused as (
         select c.facet, c.value, c.status from facet_counts c where c.tenant_id = tenant group by 1, 2, 3 having sum(c.count) = 0
    ), locked as materialized (
         select c.facet, c.value, c.status, c.slot, c.count
           from facet_counts c
           join unused u on u.facet = c.facet and u.value = c.value and u.status = c.status
          where c.tenant_id = tenant
            for update of c skip locked
    ), deleted as (
         delete from facet_counts c
          using locked l
          where c.tenant_id = tenant and c.facet = l.facet and c.value = l.value and c.status = l.status and c.slot = l.slot
            and (l.facet, l.value, l.status) in (
                select facet, value, status from locked group by 1, 2, 3 having sum(count) = 0)
         returning c.value
    )
    select missing.storage - coalesce(sum(facet_bytes(d.value)), 0)::bigint into missing.storage from deleted d;
    update tenants t set recount_quotas_at = now() + interval '24 hours' where t.id = tenant;
    if found then -- the tenant may have been deleted
        perform copy_quota(tenant, missing.storage, missing.records);
    end if;
    perform set_config('app.tenant_id', before, true);
    changed := 1;
    return next;
end $$;
revoke execute on function recount_quotas from public;
grant execute on function recount_quotas to storeroom_runtime;

create or replace function skip_tenant(of_task text, after_tenant bigint) returns bigint
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    skipped bigint;
begin
    case of_task
    when 'delete_expired_responses' then
        skipped := first_free_tenant(of_task, array(
            select t.id from tenants t where t.delete_responses_at <= now() order by t.delete_responses_at limit 100));
        update tenants set delete_responses_at = now() + interval '1 hour' where id = skipped;
    when 'delete_expired_usage' then
        skipped := first_free_tenant(of_task, array(
            select t.id from tenants t where t.delete_usage_at <= now() order by t.delete_usage_at limit 100));
        update tenants set delete_usage_at = now() + interval '1 hour' where id = skipped;
    when 'delete_expired_change_plans' then
        skipped := first_free_tenant(of_task, array(
            select t.id from tenants t where t.delete_plans_at <= now() order by t.delete_plans_at limit 100));
        update tenants set delete_plans_at = now() + interval '1 hour' where id = skipped;
    when 'recount_quotas' then
        skipped := first_free_tenant(of_task, array(
            select t.id from tenants t where t.recount_quotas_at <= now() order by t.recount_quotas_at limit 100));
        update tenants set recount_quotas_at = now() + interval '1 hour' where id = skipped;
    else
        skipped := next_tenant_with_work(of_task, after_tenant);
    end case;
    return skipped;
end $$;

-- A plan that waits for room has a lease without a worker, which delays no other plan of the tenant.
create or replace function claim_due_change_plan(by_worker uuid, seconds integer, after_tenant bigint, of_tenant bigint, of_plan bigint, of_long boolean)
    returns table (tenant bigint, plan bigint)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    for tenant in
        select t.id
          from tenants t
         where of_tenant is null and t.id > after_tenant and t.suspended_at is null and t.due_change_plans > 0
         union all
        select t.id from tenants t where t.id = of_tenant
         order by 1
    loop
        perform set_config('app.tenant_id', tenant::text, true);
        if of_plan is null then
            select p.id into plan
              from change_plans p
             where p.tenant_id = tenant
               and p.state in ('planning', 'applying', 'undoing')
               and (of_long is null or p.is_long = of_long)
               and (p.state <> 'planning'
                    or exists (select from change_plan_files f where f.tenant_id = tenant and f.plan_id = p.id))
               and (p.worker is not null or p.lease_until is null or p.lease_until <= clock_timestamp())
             order by p.id
             limit 1
               for update skip locked;
        else
            select p.id into plan
              from change_plans p
             where p.tenant_id = tenant and p.id = of_plan
               for update skip locked;
        end if;
        continue when plan is null;
        continue when not pg_try_advisory_xact_lock(hashtextextended('change plans of tenant ' || tenant, 0));
        continue when exists (
            select from change_plans p
             where p.tenant_id = tenant and p.worker is not null
               and p.lease_until is not null and p.lease_until > clock_timestamp());
        update change_plans p
           set state = 'failed', failure = 'The work was interrupted too often.', attempts = 0
         where p.tenant_id = tenant and p.id = plan and p.attempts >= 5 and of_plan is null;
        continue when found;
        update change_plans p
           set worker = by_worker, lease_until = clock_timestamp() + make_interval(secs => seconds),
               attempts = p.attempts + 1
         where p.tenant_id = tenant and p.id = plan;
        return next;
        exit;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;

create or replace function empty_old_webhook_deliveries() returns integer
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp set lock_timeout = '500ms' as $$
declare
    unused integer := (((clock_timestamp() at time zone 'UTC')::date - date '2000-01-01') / 10 + 2) % 6;
    partition regclass;
    emptied integer := 0;
begin
    perform set_config('citus.enable_manual_changes_to_shards', 'on', true);
    for partition in -- without pg_class, in which Citus hides them
        select i.inhrelid
          from pg_inherits i
         where i.inhparent = 'public.webhook_deliveries'::regclass
           and substring(pg_get_partition_constraintdef(i.inhrelid) from '[0-9]+')::integer = unused
           and pg_relation_size(i.inhrelid) > 0
    loop
        execute format('truncate %s', partition);
        emptied := emptied + 1;
    end loop;
    if emptied > 0 then -- no trigger counts them
        update tenants set recount_quotas_at = now() where recount_quotas_at > now();
    end if;
    return emptied;
end $$;
