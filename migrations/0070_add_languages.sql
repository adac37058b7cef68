-- The language in which a person reads the pages. Null is the language of the browser.

-- Each request of a page reads the users, so the lock does not wait for long behind a transaction, but tries again.
do $$
begin
    perform set_config('lock_timeout', '500ms', true);
    for retries in reverse 60..0 loop
        begin
            lock table users in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

alter table users add column language text check (language ~ '^[a-z]{2}$');
