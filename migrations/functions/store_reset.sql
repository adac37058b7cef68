-- Stores a reset for an account, also one without a tenant, and logs it. Only operators may call it. It returns false
-- if there is no such account.
create or replace function store_reset(link bytea, address text) returns boolean
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
    person bigint := (select u.id from users u where u.email = lower(address));
begin
    if person is null then
        return false;
    end if;
    update one_time_links l set expires_at = 'epoch' where l.tenant_id is null and l.email = lower(address);
    insert into one_time_links (token_hash, purpose, email) values (link, 'reset', lower(address));
    perform log_person(person, 'password.reset_link', null, true);
    return true;
end $$;
revoke execute on function store_reset from public;
