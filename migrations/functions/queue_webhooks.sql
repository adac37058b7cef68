-- Queues the tenant of a new change if it has an active webhook. app.queued_webhooks has the tenant that the
-- transaction queued last, so that an import queues it once.
create or replace function queue_webhooks() returns trigger
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if current_setting('app.queued_webhooks', true) is distinct from new.tenant_id::text and exists (
        select from webhooks w where w.tenant_id = new.tenant_id and w.state = 'active')
    then
        insert into tenants_with_work (tenant_id, task) values (new.tenant_id, 'webhooks');
        perform set_config('app.queued_webhooks', new.tenant_id::text, true);
    end if;
    return null;
end $$;
revoke execute on function queue_webhooks from public;
