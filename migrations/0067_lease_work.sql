-- The queue of tasks also has which worker visits a tenant. The defaults are right for the rows that functions of the
-- previous release insert.

-- Each sale inserts a row, so the lock does not wait for long behind a transaction, but tries again.
do $$
begin
    perform set_config('lock_timeout', '500ms', true);
    for retries in reverse 60..0 loop
        begin
            lock table tenants_with_work, change_plans in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

alter table tenants_with_work
    add column due timestamptz not null default now(),
    add column worker uuid,
    add column attempts integer not null default 0;
comment on table tenants_with_work is 'Queue of the tenants for which a task has work. Each statement that makes work inserts its own row, so that none waits for another; claim_work replaces those of a tenant with one that a worker has until it is due. It deletes only rows that it sees, so it misses no work. The runtime role has no privilege.';
comment on column tenants_with_work.due is 'When a worker may claim the tenant: the end of the lease if the row has a worker.';
comment on column tenants_with_work.attempts is 'How often the task has failed for the tenant since it succeeded.';
alter table change_plans add column traceparent text;
alter table change_plans add constraint change_plans_traceparent_check check (length(traceparent) <= 55); -- on Citus alone
comment on column change_plans.traceparent is 'The span of the request that created the plan, or last applied or undid it, in the format of W3C Trace Context. The span of its worker has a link to it.';
comment on table due_webhooks is 'Queue of webhooks of the previous release. claim_work moves what is left in it to tenants_with_work. The runtime role has no privilege.';
-- The tenant that is due for the longest time is the next one.
create index tenants_with_work_due on tenants_with_work (task, due);
alter table tenants_with_work alter due set statistics 0;
