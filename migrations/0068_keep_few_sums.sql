-- A month with few sums is not packed, so that a small shop's packed sums take less space than its orders. unpacked_sums
-- also gets the marks of packed_customers, which instances of the previous release read in unpacked_customers.

-- Each sale inserts a row, so the lock does not wait for long behind a transaction, but tries again.
do $$
begin
    perform set_config('lock_timeout', '500ms', true);
    for retries in reverse 60..0 loop
        begin
            lock table unpacked_sums in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

alter table unpacked_sums
    add column is_kept boolean not null default false;
comment on table unpacked_sums is 'Marks of derived rows that are out of date: blocks of packed_sums, with block -1 months of monthly_sums, and with block -2 days of packed_customers, which month has. Each transaction that changes sales inserts its own marks, so that none waits for another; pack_sums deletes those that it sees.';
comment on column unpacked_sums.is_kept is 'The month has so few sums that reports always compute them.';
comment on table unpacked_customers is 'Days of packed_customers that are out of date, for instances of the previous release. A trigger copies each to unpacked_sums.';
