-- Writes of products and of stock cost less.

-- Requests that wait behind these locks fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '400ms', true); -- each of four locks
    for retries in reverse 20..0 loop
        begin
            lock table tenants, inventory_adjustments in access exclusive mode;
            lock table products, changes in share row exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

-- Each row of the ledger is written while its product is locked, which exists only if the tenant does. The deletion of a
-- tenant deletes the ledger itself.
alter table inventory_adjustments drop constraint inventory_adjustments_tenant_id_fkey;

-- A trigger for each row costs less than one for each statement, which needs a copy of the rows. Most statements record
-- one change. app.queued_webhooks has the tenant that the transaction queued last; a savepoint restores it.
create or replace function queue_webhooks() returns trigger
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    if current_setting('app.queued_webhooks', true) is distinct from new.tenant_id::text and exists (
        select from webhooks w where w.tenant_id = new.tenant_id and w.state = 'active')
    then
        insert into due_webhooks (tenant_id) values (new.tenant_id);
        perform set_config('app.queued_webhooks', new.tenant_id::text, true);
    end if;
    return null;
end $$;
create or replace trigger queue_webhooks after insert on changes
    for each row execute function queue_webhooks();

-- The statement that creates one product records its change itself, as that of an adjustment does.
create or replace trigger record_inserts after insert on products
    referencing new table as new_rows for each statement
    when (current_setting('app.recorded', true) is distinct from statement_timestamp()::text)
    execute function record_products();
