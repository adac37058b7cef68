-- Origins of web pages that may read the responses to their tenant's keys.

-- Requests that wait behind this lock fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '500ms', true);
    for retries in reverse 60..0 loop
        begin
            lock table tenants in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

alter table tenants add column origins text[] not null default '{}' check (cardinality(origins) <= 20);
comment on column tenants.origins is 'Origins of web pages that may read responses of the API, such as https://shop.example.com.';
