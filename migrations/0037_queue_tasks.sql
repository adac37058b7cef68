-- Tasks visit only tenants that have work. Before, each of them asked every tenant every 1, 5 or 15 minutes.

-- Requests that wait behind these locks fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '400ms', true); -- each of four locks
    for retries in reverse 20..0 loop
        begin
            lock table tenants in access exclusive mode;
            lock table unpacked_sums, unpacked_customers, unused_media in share row exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

-- Tenants have no reference, because files of deleted tenants have the tenant 0.
create table tenants_with_work (
    tenant_id bigint not null,
    task      text collate "C" not null
);
comment on table tenants_with_work is 'Tenants for which a task has work. Each statement that makes work inserts its own row, so that none waits for another. The task replaces those of a tenant with one if the same snapshot shows more work, so that it misses none. The runtime role has no privilege.';
create index tenants_with_work_task on tenants_with_work (task, tenant_id);
alter table tenants_with_work alter tenant_id set statistics 0;

-- queue_task queues the tenants of the new rows for the task that the trigger names.
create function queue_task() returns trigger
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp set enable_sort = off as $$
begin
    insert into tenants_with_work (tenant_id, task) select distinct n.tenant_id, tg_argv[0] from new_rows n;
    return null;
end $$;
revoke execute on function queue_task from public;
create trigger queue_task after insert on unpacked_sums
    referencing new table as new_rows for each statement execute function queue_task('pack_product_sums');
create trigger queue_task after insert on unpacked_customers
    referencing new table as new_rows for each statement execute function queue_task('pack_customers');
create trigger queue_task after insert on unused_media
    referencing new table as new_rows for each statement execute function queue_task('claim_unused_media');

-- next_tenant_with_work returns the first tenant after the given one that the task has to visit.
create function next_tenant_with_work(of_task text, after_tenant bigint) returns bigint
    language sql set search_path = pg_catalog, public, pg_temp set enable_seqscan = off as $$
    select min(tenant_id) from tenants_with_work where task = of_task and tenant_id > after_tenant;
$$;
revoke execute on function next_tenant_with_work from public;

-- The first call of each task finds which of the present tenants have work.
insert into tenants_with_work (tenant_id, task)
select t.id, w.task
  from tenants t, unnest('{pack_product_sums,pack_customers,claim_unused_media}'::text[]) w (task)
 union all
select 0, 'claim_unused_media';

alter table tenants
    add column delete_responses_at timestamptz not null default now(),
    add column delete_usage_at timestamptz not null default now(),
    add column delete_plans_at timestamptz not null default now();
alter table tenants
    alter delete_responses_at set default now() + interval '24 hours',
    alter delete_usage_at set default now() + interval '90 days',
    alter delete_plans_at set default now() + interval '24 hours';
comment on column tenants.delete_responses_at is 'When delete_expired_responses visits the tenant next: about when its first response expires.';
comment on column tenants.delete_usage_at is 'When delete_expired_usage visits the tenant next: about when its first usage or error expires.';
comment on column tenants.delete_plans_at is 'When delete_expired_change_plans visits the tenant next: about when its first plan expires.';
create index tenants_delete_responses on tenants (delete_responses_at);
create index tenants_delete_usage on tenants (delete_usage_at);
create index tenants_delete_plans on tenants (delete_plans_at);

-- The migrator may not skip policies.
set local row_security = on;

-- pack_product_sums packs months and blocks of the next tenant, as before. One call visits at most 100 tenants.
create or replace function pack_product_sums(after_tenant bigint, max_rows integer)
returns table (tenant bigint, changed integer)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    row record;
begin
    changed := 0;
    tenant := after_tenant;
    for visits in 1..100 loop
        tenant := next_tenant_with_work('pack_product_sums', tenant);
        exit when tenant is null;
        perform set_config('app.tenant_id', tenant::text, true);
        delete from tenants_with_work w
         where w.task = 'pack_product_sums'
           and w.tenant_id = tenant
           and not exists (select from unpacked_sums u where u.tenant_id = tenant);
        continue when found;
        continue when not pg_try_advisory_xact_lock(hashtextextended('packed sums of tenant ' || tenant, 0));
        for row in
            select distinct u.month, u.block
              from unpacked_sums u
             where u.tenant_id = tenant
             limit max_rows
        loop
            begin
                if row.block = -1 then
                    delete from monthly_sums m
                     where m.tenant_id = tenant and m.kind in (2, 3) and m.month = row.month;
                    with unmarked as (
                        delete from unpacked_sums u
                         where u.tenant_id = tenant and u.month = row.month and u.block = -1
                    )
                    insert into monthly_sums
                           (tenant_id, kind, month, key, orders, items, units, units_without_cost, revenue, discounts,
                            tax, cost, refund_count, refunds, shipping, revenue_without_cost)
                    select tenant, r.kind, row.month, r.key, sum(r.orders), sum(r.items), sum(r.units),
                           sum(r.units_without_cost), sum(r.revenue), sum(r.discounts), sum(r.tax), sum(r.cost),
                           sum(r.refund_count), sum(r.refunds), sum(r.shipping), sum(r.revenue_without_cost)
                      from sales_rollups r
                     where r.tenant_id = tenant
                       and r.kind in (2, 3)
                       and r.day >= row.month
                       and r.day < (row.month + interval '1 month')::date
                     group by r.kind, r.key;
                else
                    with packed as (
                        delete from unpacked_sums u
                         where u.tenant_id = tenant and u.month = row.month and u.block = row.block
                    )
                    insert into packed_sums
                           (tenant_id, month, block, sold_ids, items, units, revenue, cost, revenue_without_cost,
                            refunds)
                    select tenant, row.month, row.block, s.*
                      from product_sums(tenant, row.month, row.block) s
                        on conflict (tenant_id, month, block) do update
                       set sold_ids = excluded.sold_ids, items = excluded.items, units = excluded.units,
                           revenue = excluded.revenue, cost = excluded.cost,
                           revenue_without_cost = excluded.revenue_without_cost, refunds = excluded.refunds;
                end if;
                changed := changed + 1;
            exception when numeric_value_out_of_range then
                null; -- The mark stays, and reports of the month fail with the same error.
            end;
        end loop;
        with seen as (
            delete from tenants_with_work w where w.task = 'pack_product_sums' and w.tenant_id = tenant
        )
        insert into tenants_with_work (tenant_id, task)
        select tenant, 'pack_product_sums'
         where exists (select from unpacked_sums u where u.tenant_id = tenant);
        exit when changed > 0;
    end loop;
    perform set_config('app.tenant_id', before, true);
    if tenant is not null then
        return next;
    end if;
end $$;

-- pack_customers packs days of the next tenant, as before. One call visits at most 100 tenants.
create or replace function pack_customers(after_tenant bigint, max_rows integer)
returns table (tenant bigint, changed integer)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    row record;
begin
    changed := 0;
    tenant := after_tenant;
    for visits in 1..100 loop
        tenant := next_tenant_with_work('pack_customers', tenant);
        exit when tenant is null;
        perform set_config('app.tenant_id', tenant::text, true);
        delete from tenants_with_work w
         where w.task = 'pack_customers'
           and w.tenant_id = tenant
           and not exists (select from unpacked_customers u where u.tenant_id = tenant);
        continue when found;
        continue when not pg_try_advisory_xact_lock(hashtextextended('packed customers of tenant ' || tenant, 0));
        for row in
            select distinct u.day
              from unpacked_customers u
             where u.tenant_id = tenant
             limit max_rows
        loop
            begin
                with packed as (
                    delete from unpacked_customers u
                     where u.tenant_id = tenant and u.day = row.day
                )
                insert into packed_customers
                       (tenant_id, day, customer_ids, revenue, placed_at, refunded_ids, refunds, guests)
                select tenant, row.day, s.*
                  from customer_sales(tenant, row.day::timestamp at time zone 'UTC',
                                      (row.day + 1)::timestamp at time zone 'UTC') s
                    on conflict (tenant_id, day) do update
                   set customer_ids = excluded.customer_ids, revenue = excluded.revenue, placed_at = excluded.placed_at,
                       refunded_ids = excluded.refunded_ids, refunds = excluded.refunds, guests = excluded.guests;
                changed := changed + 1;
            exception when numeric_value_out_of_range then
                null; -- The mark stays, and reports of the day fail with the same error.
            end;
        end loop;
        with seen as (
            delete from tenants_with_work w where w.task = 'pack_customers' and w.tenant_id = tenant
        )
        insert into tenants_with_work (tenant_id, task)
        select tenant, 'pack_customers'
         where exists (select from unpacked_customers u where u.tenant_id = tenant);
        exit when changed > 0;
    end loop;
    perform set_config('app.tenant_id', before, true);
    if tenant is not null then
        return next;
    end if;
end $$;

-- claim_unused_media claims files that are due, as before, of the tenants that have unused files.
create or replace function claim_unused_media(max_rows integer) returns table (tenant bigint, file text)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    claimed record;
begin
    tenant := -1;
    while max_rows > 0 loop
        tenant := next_tenant_with_work('claim_unused_media', tenant);
        exit when tenant is null;
        perform set_config('app.tenant_id', tenant::text, true);
        with seen as (
            delete from tenants_with_work w where w.task = 'claim_unused_media' and w.tenant_id = tenant
        )
        insert into tenants_with_work (tenant_id, task)
        select tenant, 'claim_unused_media'
         where exists (select from unused_media u where u.tenant_id = tenant);
        continue when not found;
        for claimed in
            update unused_media u
               set due = now() + interval '10 minutes'
             where u.tenant_id = tenant
               and u.file in (
                   select d.file
                     from unused_media d
                    where d.tenant_id = tenant and d.due <= now()
                    order by d.due
                    limit max_rows
                      for update skip locked)
         returning u.file
        loop
            file := claimed.file;
            max_rows := max_rows - 1;
            return next;
        end loop;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;

-- These delete rows of the tenant that is due for the longest time, and compute when it is due again: at once if there
-- are more rows, and after 15 minutes if a row that has expired is locked. What a tenant stores later expires later.
-- They ignore after_tenant, which every task has.
create or replace function delete_expired_responses(after_tenant bigint, max_rows integer)
returns table (tenant bigint, deleted integer)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    select t.id into tenant
      from tenants t
     where t.delete_responses_at <= now()
     order by t.delete_responses_at
     limit 1
       for no key update skip locked;
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    delete from idempotency_keys k
     where k.tenant_id = tenant
       and k.key in (
           select e.key
             from idempotency_keys e
            where e.tenant_id = tenant and e.created_at < now() - interval '24 hours'
            order by e.created_at
            limit max_rows
              for update skip locked);
    get diagnostics deleted = row_count;
    update tenants t
       set delete_responses_at = case when deleted = max_rows then now() else
               greatest(now() + interval '15 minutes', interval '24 hours' + least(
                   now(), (select min(k.created_at) from idempotency_keys k where k.tenant_id = tenant))) end
     where t.id = tenant;
    perform set_config('app.tenant_id', before, true);
    return next;
end $$;

create or replace function delete_expired_usage(after_tenant bigint, max_rows integer)
returns table (tenant bigint, deleted integer)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    select t.id into tenant
      from tenants t
     where t.delete_usage_at <= now()
     order by t.delete_usage_at
     limit 1
       for no key update skip locked;
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    delete from key_errors e
     where e.tenant_id = tenant and e.at < now() - interval '90 days';
    delete from key_usage u
     where u.tenant_id = tenant
       and (u.hour, u.key_id, u.route) in (
           select o.hour, o.key_id, o.route
             from key_usage o
            where o.tenant_id = tenant and o.hour < now() - interval '90 days'
            order by o.hour
            limit max_rows
              for update skip locked);
    get diagnostics deleted = row_count;
    update tenants t
       set delete_usage_at = case when deleted = max_rows then now() else
               greatest(now() + interval '15 minutes', interval '90 days' + least(
                   date_trunc('hour', now()), (select min(u.hour) from key_usage u where u.tenant_id = tenant),
                   (select min(e.at) from key_errors e where e.tenant_id = tenant))) end
     where t.id = tenant;
    perform set_config('app.tenant_id', before, true);
    return next;
end $$;

create or replace function delete_expired_change_plans(after_tenant bigint, max_rows integer)
returns table (tenant bigint, deleted integer)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    expired bigint[];
    of_facts integer;
    of_plans integer;
begin
    select t.id into tenant
      from tenants t
     where t.delete_plans_at <= now()
     order by t.delete_plans_at
     limit 1
       for no key update skip locked;
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    expired := array(
        select p.id
          from change_plans p
         where p.tenant_id = tenant and p.expires_at < now() and p.state not in ('applying', 'undoing')
           for update skip locked);
    delete from change_plan_parts c
     where c.tenant_id = tenant
       and (c.plan_id, c.part) in (
           select d.plan_id, d.part
             from change_plan_parts d
            where d.tenant_id = tenant and d.plan_id = any (expired)
            limit max_rows);
    get diagnostics deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = tenant
       and (f.plan_id, f.kind, f.id) in (
           select g.plan_id, g.kind, g.id
             from imported_facts g
            where g.tenant_id = tenant and g.plan_id = any (expired)
            limit 100 * max_rows);
    get diagnostics of_facts = row_count;
    if of_facts = 100 * max_rows then
        deleted := max_rows;
    elsif deleted < max_rows then
        delete from change_plans p where p.tenant_id = tenant and p.id = any (expired);
        get diagnostics of_plans = row_count;
        deleted := least(deleted + of_plans, max_rows);
    end if;
    update tenants t
       set delete_plans_at = case when deleted = max_rows then now() else
               greatest(now() + interval '15 minutes', least(
                   now() + interval '24 hours',
                   (select min(p.expires_at) from change_plans p where p.tenant_id = tenant))) end
     where t.id = tenant;
    perform set_config('app.tenant_id', before, true);
    return next;
end $$;
