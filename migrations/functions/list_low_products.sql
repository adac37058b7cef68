-- Keeps low_products, the products at or below their reorder point, which lists and the overview read, after a change of
-- stock.
create or replace function list_low_products() returns trigger
language plpgsql
as $$
begin
    if (old.quantity, old.reorder_point) is not distinct from (new.quantity, new.reorder_point) then
        return null;
    end if;
    if new.quantity <= new.reorder_point then
        insert into public.low_products (tenant_id, product_id, quantity)
        values (new.tenant_id, new.id, new.quantity)
        on conflict (tenant_id, product_id) do update set quantity = excluded.quantity;
    else
        delete from public.low_products where tenant_id = new.tenant_id and product_id = new.id;
    end if;
    return null;
end $$;
revoke execute on function list_low_products from public;
