-- Gives all rows of a product in sold_products the same first_id. The lock makes each transaction see the rows of those
-- before it.
create or replace function set_first_id() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
begin
    perform pg_advisory_xact_lock(hashtextextended('sold products of tenant ' || new.tenant_id, 0));
    if new.product_id is not null then
        select coalesce(s.first_id, s.id) into new.first_id
          from sold_products s
         where s.tenant_id = new.tenant_id and s.product_id = new.product_id
         limit 1;
    else
        select coalesce(s.first_id, s.id) into new.first_id
          from sold_products s
         where s.tenant_id = new.tenant_id and s.sku = new.sku and s.product_id is null
         limit 1;
    end if;
    return new;
end $$;
revoke execute on function set_first_id from public;
