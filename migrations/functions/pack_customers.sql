-- Instances of the previous release pack sums with it; pack_sums packs all derived rows.
create or replace function pack_customers(after_tenant bigint, max_rows integer)
returns table (tenant bigint, changed integer)
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
begin
    return query select * from pack_sums(after_tenant, max_rows);
end $$;
revoke execute on function pack_customers from public;
grant execute on function pack_customers to storeroom_runtime;
