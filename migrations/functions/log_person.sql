-- Writes what was done to an account into the audit log of each tenant of the person. Functions that change accounts
-- call it.
create or replace function log_person(person bigint, action text, address text, by_operator boolean) returns void
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint;
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    for tenant in select m.tenant_id from memberships m where m.user_id = person order by m.tenant_id loop
        perform set_config('app.tenant_id', tenant::text, true);
        insert into audit_log (tenant_id, user_id, actor, address, action, target)
        select tenant, case when not by_operator then u.id end, case when by_operator then 'operator' else u.email end,
               nullif(log_person.address, ''), log_person.action, u.email
          from users u where u.id = person;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $$;
revoke execute on function log_person from public;
