-- Members change stock on pages, and the ledger names them.

-- Each change of stock inserts a row, so the lock does not wait for long behind a transaction, but tries again.
do $$
begin
    perform set_config('lock_timeout', '500ms', true);
    for retries in reverse 60..0 loop
        begin
            lock table inventory_adjustments in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

alter table inventory_adjustments add column member text;
comment on column inventory_adjustments.member is 'The e-mail address of the member who changed the stock, or null.';
