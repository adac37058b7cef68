-- Counts the plans of a tenant that an instance has to work on. It runs at the end of a transaction, which must not
-- lock the tenant for minutes.
create or replace function count_due_change_plans() returns trigger
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    due constant text[] := '{planning,applying,undoing}';
    difference integer := 0;
begin
    if tg_op <> 'DELETE' then
        difference := (new.state = any (due))::integer;
    end if;
    if tg_op <> 'INSERT' then
        difference := difference - (old.state = any (due))::integer;
    end if;
    if difference <> 0 then
        update tenants
           set due_change_plans = due_change_plans + difference
         where id = case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end;
    end if;
    return null;
end $$;
revoke execute on function count_due_change_plans from public;
