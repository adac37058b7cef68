-- Change plans: rows to create or change, such as those of an import, which are computed first, then applied and undone
-- in parts.

create table change_plans (
    tenant_id    bigint not null references tenants (id) on delete cascade,
    id           bigint not null generated always as identity,
    parts        integer not null default 0 check (parts >= 0),
    next_part    integer not null default 0 check (next_part between 0 and parts),
    kind         text not null,
    state        text not null check (state in ('planning', 'needs_mapping', 'planned', 'applying', 'applied', 'undoing',
                                                'undone', 'cancelled', 'failed')),
    skip_changed boolean not null default false,
    title        text not null,
    failure      text,
    actor        text not null,
    details      jsonb not null default '{}',
    created_at   timestamptz not null default now(),
    planned_at   timestamptz,
    applied_at   timestamptz,
    expires_at   timestamptz not null,
    worker       uuid,
    lease_until  timestamptz,
    attempts     integer not null default 0,
    primary key (tenant_id, id)
);
comment on table change_plans is 'Plans of changes. A plan that was applied expires after 7 days, another one after 24 hours.';
comment on column change_plans.next_part is 'The part to apply next. The parts before it are applied; undoing counts down.';
comment on column change_plans.skip_changed is 'Whether to apply the plan although rows have changed since, without these rows.';
comment on column change_plans.title is 'The names of the files, or of what else the changes come from.';
comment on column change_plans.failure is 'Why a plan failed, or could not be applied, for its user.';
comment on column change_plans.details is 'What the code of the kind stores: settings, and descriptions of files.';
comment on column change_plans.attempts is 'How often a worker has claimed the plan since a part of it was completed or a worker released it.';
comment on column change_plans.worker is 'The process that works on the plan, until lease_until.';

create table change_plan_parts (
    tenant_id bigint not null,
    plan_id   bigint not null,
    part      integer not null check (part >= 0),
    created   integer not null,
    updated   integer not null,
    unchanged integer not null,
    refused   integer not null,
    ignored   integer not null,
    skipped   integer not null default 0,
    kind      text not null,
    rows      bytea not null,
    result    bytea,
    primary key (tenant_id, plan_id, part),
    foreign key (tenant_id, plan_id) references change_plans (tenant_id, id) on delete cascade
);
comment on table change_plan_parts is 'Parts of plans. A part is applied, and undone, in one transaction.';
comment on column change_plan_parts.skipped is 'Rows that were not applied, or not undone, because something else has changed them.';
comment on column change_plan_parts.rows is 'What to change: JSON, compressed with Zstandard.';
comment on column change_plan_parts.result is 'What undoing needs, and the rows that were skipped: JSON, compressed with Zstandard.';

create table change_plan_files (
    tenant_id bigint not null,
    plan_id   bigint not null,
    file      integer not null check (file >= 0),
    chunk     integer not null check (chunk >= 0),
    name      text not null,
    bytes     bytea not null,
    primary key (tenant_id, plan_id, file, chunk),
    foreign key (tenant_id, plan_id) references change_plans (tenant_id, id) on delete cascade
);
comment on table change_plan_files is 'Files from which an instance computes a plan, until the plan is applied or cancelled.';
comment on column change_plan_files.bytes is 'A part of the file, compressed with Zstandard.';
alter table change_plan_files alter bytes set storage external, alter tenant_id set statistics 0;

alter table change_plan_parts
    alter rows set storage external,
    alter result set storage external;
alter table change_plans alter tenant_id set statistics 0;
alter table change_plan_parts alter tenant_id set statistics 0;

create table imported_facts (
    tenant_id bigint not null,
    plan_id   bigint not null,
    kind      text collate "C" not null check (kind in ('orders', 'refunds', 'cancellations', 'customers')),
    id        bigint not null,
    primary key (tenant_id, plan_id, kind, id),
    foreign key (tenant_id, plan_id) references change_plans (tenant_id, id) on delete cascade
);
comment on table imported_facts is 'Facts and customers that a plan created, which undoing it may delete. The runtime role writes it with record_facts only.';
comment on column imported_facts.kind is 'The table of the row. The id of a cancellation is that of its order.';
alter table imported_facts alter tenant_id set statistics 0;
alter table imported_facts enable row level security;
alter table imported_facts force row level security;
create policy tenant on imported_facts
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select on imported_facts to storeroom_runtime;

alter table change_plans enable row level security;
alter table change_plans force row level security;
create policy tenant on change_plans
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, update on change_plans to storeroom_runtime;

alter table change_plan_parts enable row level security;
alter table change_plan_parts force row level security;
create policy tenant on change_plan_parts
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, update, delete on change_plan_parts to storeroom_runtime;

alter table change_plan_files enable row level security;
alter table change_plan_files force row level security;
create policy tenant on change_plan_files
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, delete on change_plan_files to storeroom_runtime;

-- claim_change_plan gives a worker the next plan to compute, apply or undo of the first tenant after the given one, or
-- the plan of_plan of of_tenant. No other plan of that tenant has a worker then. The worker keeps the plan for so many
-- seconds, unless it extends lease_until. A plan whose workers were killed five times fails. A plan without files is computed by the process that created it.
create function claim_change_plan(
    by_worker uuid, seconds integer, after_tenant bigint, of_tenant bigint, of_plan bigint
) returns table (tenant bigint, plan bigint)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    for tenant in
        select t.id
          from tenants t
         where t.id > after_tenant and (of_tenant is null and t.suspended_at is null or t.id = of_tenant)
         order by t.id
    loop
        perform set_config('app.tenant_id', tenant::text, true);
        select p.id into plan
          from change_plans p
         where p.tenant_id = tenant
           and (p.id = of_plan
                or of_plan is null
               and (p.state in ('applying', 'undoing')
                    or p.state = 'planning'
                   and exists (
                       select from change_plan_files f where f.tenant_id = tenant and f.plan_id = p.id)))
         order by p.id
         limit 1
           for update skip locked;
        continue when plan is null;
        continue when not pg_try_advisory_xact_lock(hashtextextended('change plans of tenant ' || tenant, 0));
        continue when exists (
            select from change_plans p where p.tenant_id = tenant and p.lease_until > clock_timestamp());
        update change_plans p
           set state = 'failed', failure = 'The work was interrupted too often.', attempts = 0
         where p.tenant_id = tenant and p.id = plan and p.attempts >= 5 and of_plan is null;
        continue when found;
        update change_plans p
           set worker = by_worker, lease_until = clock_timestamp() + make_interval(secs => seconds), attempts = p.attempts + 1
         where p.tenant_id = tenant and p.id = plan;
        return next;
        exit;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;
revoke execute on function claim_change_plan from public;
grant execute on function claim_change_plan to storeroom_runtime;

-- delete_expired_change_plans deletes as delete_expired_responses does. It deletes the parts and facts of a plan first,
-- because a plan can have thousands.
create function delete_expired_change_plans(after_tenant bigint, max_rows integer)
    returns table (tenant bigint, deleted integer)
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    expired bigint[];
    of_facts integer;
    of_plans integer;
begin
    select min(t.id) into tenant from tenants t where t.id > after_tenant;
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
    perform set_config('app.tenant_id', before, true);
    return next;
end $$;
revoke execute on function delete_expired_change_plans from public;
grant execute on function delete_expired_change_plans to storeroom_runtime;

-- record_facts records rows that the current transaction created for a plan that is being applied. A row that another
-- transaction created has another created_at, so nobody can make an existing fact one that a plan may delete.
create function record_facts(of_plan bigint, of_kind text, ids bigint[]) returns void
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    of_tenant bigint := nullif(current_setting('app.tenant_id', true), '');
    recorded integer;
begin
    if not exists (
        select from change_plans p where p.tenant_id = of_tenant and p.id = of_plan and p.state = 'applying') then
        raise exception 'no plan % is being applied', of_plan using errcode = 'insufficient_privilege';
    end if;
    insert into imported_facts (tenant_id, plan_id, kind, id)
    select of_tenant, of_plan, of_kind, r.id
      from (
           select o.id from orders o
            where of_kind = 'orders' and o.tenant_id = of_tenant and o.id = any (ids) and o.created_at = now()
           union all
           select r.id from refunds r
            where of_kind = 'refunds' and r.tenant_id = of_tenant and r.id = any (ids) and r.created_at = now()
           union all
           select c.order_id from cancellations c
            where of_kind = 'cancellations' and c.tenant_id = of_tenant and c.order_id = any (ids)
              and c.created_at = now()
           union all
           select c.id from customers c
            where of_kind = 'customers' and c.tenant_id = of_tenant and c.id = any (ids) and c.created_at = now()
           ) r;
    get diagnostics recorded = row_count;
    if recorded <> cardinality(ids) then
        raise exception 'the transaction created % of % rows', recorded, cardinality(ids)
              using errcode = 'insufficient_privilege';
    end if;
end $$;
revoke execute on function record_facts from public;
grant execute on function record_facts to storeroom_runtime;

-- remove_facts deletes rows that a plan of the tenant created and that is being undone. It deletes an order only with all
-- of its refunds and its cancellation. The caller subtracts the rows from sales_rollups.
create function remove_facts(
    of_plan bigint, order_ids bigint[], refund_ids bigint[], cancellation_ids bigint[], customer_ids bigint[]
) returns void
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    of_tenant bigint := nullif(current_setting('app.tenant_id', true), '');
    orders_deleted integer;
    refunds_deleted integer;
    cancellations_deleted integer;
    customers_deleted integer;
begin
    if not exists (
        select from change_plans p where p.tenant_id = of_tenant and p.id = of_plan and p.state = 'undoing') then
        raise exception 'no plan % is being undone', of_plan using errcode = 'insufficient_privilege';
    end if;
    order_ids := coalesce(order_ids, '{}');
    refund_ids := coalesce(refund_ids, '{}');
    cancellation_ids := coalesce(cancellation_ids, '{}');
    customer_ids := coalesce(customer_ids, '{}');
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'orders' and f.id = any (order_ids);
    get diagnostics orders_deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'refunds' and f.id = any (refund_ids);
    get diagnostics refunds_deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'cancellations' and f.id = any (cancellation_ids);
    get diagnostics cancellations_deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'customers' and f.id = any (customer_ids);
    get diagnostics customers_deleted = row_count;
    if orders_deleted <> cardinality(order_ids)
       or refunds_deleted <> cardinality(refund_ids)
       or cancellations_deleted <> cardinality(cancellation_ids)
       or customers_deleted <> cardinality(customer_ids)
       or exists (select from refunds r
                   where r.tenant_id = of_tenant and r.order_id = any (order_ids) and r.id <> all (refund_ids))
       or exists (select from cancellations c
                   where c.tenant_id = of_tenant and c.order_id = any (order_ids)
                     and c.order_id <> all (cancellation_ids)) then
        raise exception 'plan % did not create all of the rows', of_plan using errcode = 'insufficient_privilege';
    end if;
    insert into unpacked_customers (tenant_id, day)
    select of_tenant, (o.placed_at at time zone 'UTC')::date
      from orders o
     where o.tenant_id = of_tenant and o.id = any (order_ids || cancellation_ids)
     union
    select of_tenant, (r.refunded_at at time zone 'UTC')::date
      from refunds r
     where r.tenant_id = of_tenant and r.id = any (refund_ids)
     union
    select of_tenant, (r.refunded_at at time zone 'UTC')::date
      from refunds r
     where r.tenant_id = of_tenant and r.order_id = any (cancellation_ids);
    delete from refunds r where r.tenant_id = of_tenant and r.id = any (refund_ids);
    delete from cancellations c where c.tenant_id = of_tenant and c.order_id = any (cancellation_ids);
    delete from orders o where o.tenant_id = of_tenant and o.id = any (order_ids);
    delete from customers c where c.tenant_id = of_tenant and c.id = any (customer_ids);
end $$;
revoke execute on function remove_facts from public;
grant execute on function remove_facts to storeroom_runtime;
