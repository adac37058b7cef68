-- Adjustments of stock, the most frequent writes, cost less.

-- Requests that wait behind these locks fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '750ms', true); -- each of two locks
    for retries in reverse 20..0 loop
        begin
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

-- A statement that records its changes itself sets app.recorded to its own start time, so that no other statement is
-- skipped. The comparison of all columns costs half as much as an adjustment.
create or replace trigger record_updates after update on products
    referencing old table as old_rows new table as new_rows for each statement
    when (current_setting('app.recorded', true) is distinct from statement_timestamp()::text)
    execute function record_products();

-- queue_webhooks queues the tenant if it has an active endpoint. The policy of changes admits only rows of this tenant.
-- app.queued_webhooks has the tenant that the transaction queued last, so that an import of many statements inserts one
-- row; a savepoint restores it.
create or replace function queue_webhooks() returns trigger
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    tenant constant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
begin
    if exists (select from new_rows) and exists (
        select from webhooks w where w.tenant_id = tenant and w.state = 'active')
    then
        insert into due_webhooks (tenant_id) values (tenant);
        perform set_config('app.queued_webhooks', tenant::text, true);
    end if;
    return null;
end $$;
create or replace trigger queue_webhooks after insert on changes
    referencing new table as new_rows for each statement
    when (current_setting('app.queued_webhooks', true) is distinct from current_setting('app.tenant_id', true))
    execute function queue_webhooks();
