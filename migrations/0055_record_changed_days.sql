-- Reports show when something in their range changed last. For days that exist already, that is the time of this
-- migration. A trigger also covers instances of the earlier release.

-- Requests that wait behind this lock fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '1s', true);
    for retries in reverse 20..0 loop
        begin
            lock table sales_rollups in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

-- PostgreSQL stores the default for all existing rows at once, without writing them.
alter table sales_rollups add changed_at timestamptz not null default now();
alter table sales_rollups alter changed_at set default clock_timestamp();
comment on column sales_rollups.changed_at is 'When a row of kind 1 was written last. Each change of a day writes one of its rows. A row whose sums are all zero again stays, so that the removal counts as a change.';

-- The row is locked, so each change is later than the one before, also if the clock was set back.
create function set_changed_at() returns trigger
    language plpgsql as $$
begin
    new.changed_at := greatest(clock_timestamp(), old.changed_at + interval '1 microsecond');
    return new;
end $$;
revoke execute on function set_changed_at() from public;
create trigger set_changed_at before update on sales_rollups
    for each row when (new.kind = 1) execute function set_changed_at();
