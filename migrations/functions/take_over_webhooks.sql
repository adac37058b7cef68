-- Moves what is left in the queue of the previous release to that of claim_work. A transaction that began before migrate
-- can still insert there.
create or replace function take_over_webhooks() returns void
language sql
set search_path = pg_catalog, public, pg_temp
as $$
    with taken as (
        delete from due_webhooks d returning d.tenant_id, d.at
    )
    insert into tenants_with_work (tenant_id, task, due)
    select t.tenant_id, 'webhooks', min(t.at) from taken t group by t.tenant_id;
$$;
revoke execute on function take_over_webhooks from public;
