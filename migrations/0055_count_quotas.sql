-- Counts what each tenant stores, and refuses what would exceed its quotas. Triggers count, so that rows which instances
-- of the earlier version write count too. Nothing is refused until recount_quotas has counted the rows of a tenant.

-- PostgreSQL checks the bodies of functions.
set local row_security = on;

-- Requests that wait behind these locks fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '150ms', true); -- each of nine locks
    for retries in reverse 20..0 loop
        begin
            lock table tenants in access exclusive mode;
            lock table products, inventory_adjustments, orders, refunds, change_plan_parts, change_plan_files,
                       idempotency_keys, webhook_deliveries in share row exclusive mode;
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
    add recount_quotas_at timestamptz not null default now();
comment on column tenants.quota_storage is 'Bytes that a tenant of the plan enterprise may store; null is no limit. Other plans have fixed quotas.';
comment on column tenants.quota_records is 'Records that a tenant of the plan enterprise may store; null is no limit.';
comment on column tenants.recount_quotas_at is 'When recount_quotas visits the tenant next.';
create index tenants_recount_quotas on tenants (recount_quotas_at);

create table quota_counts (
    tenant_id bigint   not null,
    slot      smallint not null,
    storage   bigint   not null,
    records   bigint   not null,
    primary key (tenant_id, slot)
) with (fillfactor = 50);
comment on table quota_counts is 'What a tenant stores: the sum of all slots, which are those of product_counts. The slot -1 has what recount_quotas corrected; a tenant without it is not counted yet. Triggers write it, also while a tenant is being deleted, so it has no foreign key.';
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

-- read_quota returns what the tenant of the transaction stores and may store. A limit is null if there is none.
create function read_quota(
    out storage bigint, out records bigint, out storage_limit bigint, out records_limit bigint, out counted boolean
)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    tenant constant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
begin
    select sum(q.storage), sum(q.records), bool_or(q.slot = -1)
      into storage, records, counted
      from quota_counts q
     where q.tenant_id = tenant;
    select case t.plan when 'standard' then 2147483648 when 'professional' then 21474836480 else t.quota_storage end,
           case t.plan when 'standard' then 20000000 when 'professional' then 200000000 else t.quota_records end
      into storage_limit, records_limit
      from tenants t
     where t.id = tenant;
    storage := coalesce(storage, 0);
    records := coalesce(records, 0);
    counted := coalesce(counted, false);
end $$;
revoke execute on function read_quota from public;
grant execute on function read_quota to storeroom_runtime;

-- add_to_quota counts what a statement stored or deleted. If that is refusable, and a quota is exceeded or the disk is
-- nearly full, the statement fails. app.disk_reserve is set by instances that know the size of the database.
create function add_to_quota(of_tenant bigint, more_storage bigint, more_records bigint, refusable boolean) returns void
    language plpgsql as $$
declare
    backend_slot constant smallint := pg_backend_pid() % 64;
    quota record;
begin
    if more_storage = 0 and more_records = 0 then
        return;
    end if;
    if refusable and current_setting('app.disk_reserve', true) = 'reached' then
        raise 'only the reserve of disk space is left' using errcode = 'disk_full';
    end if;
    perform pg_advisory_xact_lock(hashint8extended(of_tenant, backend_slot));
    insert into public.quota_counts as c (tenant_id, slot, storage, records)
    values (of_tenant, backend_slot, more_storage, more_records)
        on conflict (tenant_id, slot) do update
       set storage = c.storage + excluded.storage, records = c.records + excluded.records;
    if refusable then
        quota := public.read_quota();
        if quota.counted and more_storage > 0 and quota.storage > quota.storage_limit then
            raise 'the quota of storage is exceeded' using errcode = 'SR006',
                detail = format('storage %s %s', quota.storage - more_storage, quota.storage_limit);
        elsif quota.counted and more_records > 0 and quota.records > quota.records_limit then
            raise 'the quota of records is exceeded' using errcode = 'SR006',
                detail = format('records %s %s', quota.records - more_records, quota.records_limit);
        end if;
    end if;
end $$;
revoke execute on function add_to_quota from public;
grant execute on function add_to_quota to storeroom_runtime;

-- count_quota counts the rows of a statement. Only new orders, and new or larger products, can be refused.
create function count_quota() returns trigger
    language plpgsql as $$
declare
    sign constant integer := case tg_op when 'DELETE' then -1 else 1 end;
    counted record;
begin
    case tg_argv[0]
    when 'products' then
        if tg_op = 'UPDATE' then
            select min(r.tenant_id) as tenant, sum(r.bytes)::bigint as bytes, 0::bigint as records
              into counted
              from (
                   select n.tenant_id,
                          public.product_bytes(n.sku, n.name, n.description, n.bin_location, n.upc, n.tags, n.images) as bytes
                     from new_rows n
                    union all
                   select o.tenant_id,
                          -public.product_bytes(o.sku, o.name, o.description, o.bin_location, o.upc, o.tags, o.images)
                     from old_rows o
                   ) r;
        else
            select min(c.tenant_id) as tenant,
                   count(*) + case when current_setting('app.counted', true) = statement_timestamp()::text
                                   then count(*) filter (where c.quantity > 0) else 0 end as records,
                   sum(public.product_bytes(c.sku, c.name, c.description, c.bin_location, c.upc, c.tags, c.images))::bigint as bytes
              into counted
              from changed_rows c;
        end if;
    when 'orders' then
        select min(c.tenant_id) as tenant, 0::bigint as bytes, count(*) + sum(c.items) as records
          into counted
          from changed_rows c;
    when 'inventory_adjustments', 'refunds' then
        select min(c.tenant_id) as tenant, 0::bigint as bytes, count(*) as records into counted from changed_rows c;
    when 'change_plan_parts' then
        select min(c.tenant_id) as tenant, 0::bigint as records,
               sum(octet_length(c.rows) + coalesce(octet_length(c.result), 0)) as bytes
          into counted
          from changed_rows c;
    when 'change_plan_files' then
        select min(c.tenant_id) as tenant, 0::bigint as records, sum(octet_length(c.bytes)) as bytes
          into counted
          from changed_rows c;
    when 'idempotency_keys' then
        select min(c.tenant_id) as tenant, 0::bigint as records, sum(coalesce(octet_length(c.body), 0)) as bytes
          into counted
          from changed_rows c;
    when 'webhook_deliveries' then
        select min(c.tenant_id) as tenant, 0::bigint as records, sum(public.delivery_bytes(c.response, c.error))::bigint as bytes
          into counted
          from changed_rows c;
    end case;
    if counted.tenant is not null then
        perform public.add_to_quota(counted.tenant, sign * counted.bytes, sign * counted.records,
                                    tg_op <> 'DELETE' and tg_argv[0] in ('products', 'orders')
                                    and (counted.bytes > 0 or counted.records > 0));
    end if;
    return null;
end $$;
revoke execute on function count_quota from public;

-- count_quota_of_row counts one row, of which a statement inserts or updates only one. Only rows and files of new plans
-- can be refused: a request whose response is stored has passed the other checks, or is one that is never refused.
create function count_quota_of_row() returns trigger
    language plpgsql as $$
declare
    bytes bigint;
begin
    case tg_argv[0]
    when 'change_plan_parts' then
        bytes := octet_length(new.rows) + coalesce(octet_length(new.result), 0);
        if tg_op = 'UPDATE' then
            bytes := bytes - octet_length(old.rows) - coalesce(octet_length(old.result), 0);
        end if;
    when 'change_plan_files' then
        bytes := octet_length(new.bytes);
    when 'idempotency_keys' then
        bytes := coalesce(octet_length(new.body), 0) - coalesce(octet_length(old.body), 0);
    when 'webhook_deliveries' then
        bytes := public.delivery_bytes(new.response, new.error);
        if tg_op = 'UPDATE' then
            bytes := bytes - public.delivery_bytes(old.response, old.error);
        end if;
    end case;
    perform public.add_to_quota(new.tenant_id, bytes, 0,
                                tg_op = 'INSERT' and tg_argv[0] in ('change_plan_parts', 'change_plan_files'));
    return null;
end $$;
revoke execute on function count_quota_of_row from public;

create trigger count_quota_inserts after insert on products
    referencing new table as changed_rows for each statement execute function count_quota('products');
-- A statement that changes only stock sets app.same_size, because to compare texts takes longer.
create trigger count_quota_updates after update on products
    referencing old table as old_rows new table as new_rows for each statement
    when (current_setting('app.same_size', true) is distinct from statement_timestamp()::text)
    execute function count_quota('products');
create trigger count_quota_deletes after delete on products
    referencing old table as changed_rows for each statement execute function count_quota('products');
-- A statement that creates a product sets app.counted: the trigger of products counts its row of the ledger.
create trigger count_quota_inserts after insert on inventory_adjustments
    referencing new table as changed_rows for each statement
    when (current_setting('app.counted', true) is distinct from statement_timestamp()::text)
    execute function count_quota('inventory_adjustments');
create trigger count_quota_inserts after insert on orders
    referencing new table as changed_rows for each statement execute function count_quota('orders');
create trigger count_quota_deletes after delete on orders
    referencing old table as changed_rows for each statement execute function count_quota('orders');
create trigger count_quota_inserts after insert on refunds
    referencing new table as changed_rows for each statement execute function count_quota('refunds');
create trigger count_quota_deletes after delete on refunds
    referencing old table as changed_rows for each statement execute function count_quota('refunds');
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
create trigger count_quota_rows after insert or update of response on webhook_deliveries
    for each row execute function count_quota_of_row('webhook_deliveries');
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
    select p.bytes + r.bytes + f.bytes + k.bytes + d.bytes - q.storage as storage,
           p.count + o.count + u.count + a.count - q.records as records
      into missing
      from read_quota() q
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
             from webhook_deliveries where tenant_id = tenant) d;
    update tenants t set recount_quotas_at = now() + interval '24 hours' where t.id = tenant;
    if found then -- the tenant may have been deleted
        insert into quota_counts as c (tenant_id, slot, storage, records)
        values (tenant, -1, missing.storage, missing.records)
            on conflict (tenant_id, slot) do update
           set storage = c.storage + excluded.storage, records = c.records + excluded.records;
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
