-- Reports whether a tenant has changes after a cursor of package feed. Only claim_webhooks calls it, for the previous
-- release.
create or replace function has_changes_after(of_tenant bigint, cursor text) returns boolean
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
    encoded constant bytea := decode(rpad(translate(cursor, '-_', '+/'), (length(cursor) + 3) / 4 * 4, '='), 'base64');
    numbers bigint[] := '{0}'; -- tenant, epoch, transaction, number of the change, and others
    shift integer := 0;
begin
    for i in 0..length(encoded) - 1 loop
        numbers[cardinality(numbers)] := numbers[cardinality(numbers)]
            | ((get_byte(encoded, i) & 127)::bigint << shift);
        shift := shift + 7;
        if get_byte(encoded, i) < 128 then
            numbers := numbers || 0::bigint;
            shift := 0;
        end if;
    end loop;
    return exists (
        select from changes c
         where c.tenant_id = of_tenant
           and (c.epoch, c.xid, c.seq) > (coalesce(numbers[2], 0), coalesce(numbers[3], 0), coalesce(numbers[4], 0)));
end $$;
revoke execute on function has_changes_after from public;
