-- Queues the tenant of an active webhook for its next attempt, or for the end of the lease in case its worker is killed.
create or replace function queue_webhook() returns trigger
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if old.lease_until is not null then
        delete from tenants_with_work w
         where w.task = 'webhooks' and w.tenant_id = new.tenant_id and w.worker is null and w.due = old.lease_until;
    end if;
    if new.state = 'active' then
        insert into tenants_with_work (tenant_id, task, due)
        values (new.tenant_id, 'webhooks', coalesce(new.lease_until, new.next_attempt_at));
    end if;
    return null;
end $$;
revoke execute on function queue_webhook from public;
