-- Clerk and accountant are roles that the next release gives. An instance of this release and of earlier ones knows
-- neither, so a member with one has no access there.

-- Each request of a page reads the members, so the lock does not wait for long behind a transaction, but tries again.
do $$
begin
    perform set_config('lock_timeout', '500ms', true);
    for retries in reverse 60..0 loop
        begin
            lock table memberships, one_time_links in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

alter table memberships
    drop constraint memberships_role_check,
    add constraint memberships_role_check check (role in ('owner', 'admin', 'viewer', 'clerk', 'accountant'));
alter table one_time_links
    drop constraint one_time_links_role_check,
    add constraint one_time_links_role_check check (role in ('owner', 'admin', 'viewer', 'clerk', 'accountant'));
