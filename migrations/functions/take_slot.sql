-- Returns a slot of the counts of a tenant that no other transaction writes until this one ends. It waits only if all
-- are taken.
create or replace function take_slot(of_tenant bigint) returns smallint
language plpgsql
as $$
declare
    own constant integer := pg_backend_pid() % 64;
begin
    for i in own..own + 63 loop
        if pg_try_advisory_xact_lock(hashint8extended(of_tenant, i % 64)) then
            return i % 64;
        end if;
    end loop;
    perform pg_advisory_xact_lock(hashint8extended(of_tenant, own));
    return own;
end $$;
revoke execute on function take_slot from public;
grant execute on function take_slot to storeroom_runtime;
