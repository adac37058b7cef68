-- A mark of a day is in unpacked_sums too, also if the previous release inserts it. The marks that are there when the
-- trigger is created are copied while it locks the table.
create or replace trigger mark_days after insert on unpacked_customers
    referencing new table as new_rows for each statement execute function mark_days();
do $$
declare
    tenant bigint;
begin
    for tenant in select distinct w.tenant_id from tenants_with_work w where w.task = 'pack_customers' loop
        execute format('set local app.tenant_id = %L', tenant);
        insert into unpacked_sums (tenant_id, month, block)
        select distinct u.tenant_id, u.day, -2 from unpacked_customers u where u.tenant_id = tenant;
    end loop;
    set local app.tenant_id = '';
end $$;
