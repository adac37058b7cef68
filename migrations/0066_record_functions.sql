-- Instances read the table every second, so the lock does not wait for long behind a backup, but tries again.
do $$
begin
    perform set_config('lock_timeout', '500ms', true);
    for retries in reverse 60..0 loop
        begin
            lock table schema_migrations in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

alter table schema_migrations add column functions text;
comment on column schema_migrations.functions is
    'Version and SHA-256 of the functions that were applied after the file and before the next one.';
