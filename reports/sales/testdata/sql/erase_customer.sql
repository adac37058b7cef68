select name, email from customers where tenant_id = $1 and number = $2 for update

-- Plan on PostgreSQL 15:
--   LockRows
--     Index Scan using customers_tenant_id_number_key on customers

insert into audit_log (tenant_id, user_id, actor, address, action, target)
select $1, $3, $4, nullif($5, ''), 'customer.erase', number
  from customers
 where tenant_id = $1 and number = $2 and erased_at is null

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on audit_log
--     Index Scan using customers_tenant_id_number_key on customers

select e.*           from public.feed_epochs e where e.tenant_id = of_tenant order by e.epoch desc limit 1

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using feed_epochs_pkey on feed_epochs

current_setting('app.queued_webhooks', true) is distinct from new.tenant_id::text and exists (
select from webhooks w where w.tenant_id = new.tenant_id and w.state = 'active')

-- Plan on PostgreSQL 15:
--   Index Scan using webhooks_pkey on webhooks (InitPlan)

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
 group by c.tenant_id, c.changed

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on changes
--     Aggregate
--       Sort
--         Merge Join Full
--           Sort
--             Named Tuplestore Scan
--           Sort
--             Named Tuplestore Scan

update customers
   set name = null, email = null, erased_at = coalesce(erased_at, now()), updated_at = now()
 where tenant_id = $1 and number = $2

-- Plan on PostgreSQL 15:
--   ModifyTable Update on customers
--     Index Scan using customers_tenant_id_number_key on customers

insert into tenants_with_work (tenant_id, task) select distinct n.tenant_id, tg_argv[0] from new_rows n

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on tenants_with_work
--     Aggregate
--       Named Tuplestore Scan

with c as materialized (
select c.id, u.text, (c.name, c.email) is not distinct from (u.name, u.email) as is_same
  from unnest($3::text[], $4::text[], $5::text[], $6::text[]) u (number, name, email, text)
 cross join lateral (select * from customers where tenant_id = $1 and number = u.number limit 1) c
), queued as (
insert into unfilled_texts (tenant_id, kind, first_id, last_id)
select $1, 'customer', id, id from c where not is_same
)
insert into customer_texts as t (tenant_id, customer_id, version, text)
select $1, id, case when is_same then $2::smallint else 0 end, case when is_same then text else '' end
  from c
    on conflict (tenant_id, customer_id) do update
   set version = excluded.version, text = excluded.text
 where (t.version, t.text) is distinct from (excluded.version, excluded.text)

-- Plan on PostgreSQL 15:
--   ModifyTable Insert on customer_texts
--     Nested Loop Inner (CTE c)
--       Function Scan
--       Limit
--         Index Scan using customers_tenant_id_number_key on customers
--     ModifyTable Insert on unfilled_texts (CTE queued)
--       CTE Scan on c
--     CTE Scan on c

select key from idempotency_keys where tenant_id = $1 and position($2::bytea in body) > 0 order by key

-- Plan on PostgreSQL 15:
--   Index Scan using idempotency_keys_pkey on idempotency_keys
