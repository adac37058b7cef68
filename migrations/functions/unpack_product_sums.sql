-- Marks the months and blocks of changed rollups, which pack_product_sums and reports then compute again.
create or replace function unpack_product_sums() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
set enable_sort = off
as $$
begin
    insert into unpacked_sums (tenant_id, month, block)
    select distinct tenant_id, date_trunc('month', day::timestamp)::date,
           case kind when 4 then (key / 16384)::int else -1 end
      from changed_rows
     where kind > 1;
    return null;
end $$;
revoke execute on function unpack_product_sums from public;
