-- Queues an active webhook for the end of its lease, its next attempt and the expiry of its maker, because these come
-- without a statement.
create or replace function queue_webhook() returns trigger
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
begin
    delete from due_webhooks q
     where q.tenant_id = new.tenant_id
       and q.webhook_id = new.id
       and q.at = coalesce(old.lease_until, old.next_attempt_at);
    if new.state = 'active' then
        insert into due_webhooks values (new.tenant_id, new.id, coalesce(new.lease_until, new.next_attempt_at));
        if old.state is distinct from 'active' then
            insert into due_webhooks values (new.tenant_id, null, clock_timestamp() + interval '1 minute');
        end if;
        if new.maker_expires_at is not null
           and (old.state is distinct from 'active' or old.maker_expires_at is distinct from new.maker_expires_at) then
            insert into due_webhooks values (new.tenant_id, new.id, new.maker_expires_at);
        end if;
    end if;
    return null;
end $$;
revoke execute on function queue_webhook from public;
