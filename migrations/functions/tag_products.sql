-- Copies what lists of a tag need into product_tags, so that one index returns the products of a tag in order.
create or replace function tag_products() returns trigger
language plpgsql
as $$
begin
    if tg_op = 'INSERT' then
        insert into public.product_tags (tenant_id, tag, created_at, product_id, status, name, sku, price)
        select tenant_id, unnest(tags), created_at, id, status, name, sku, price
          from new_rows;
    elsif old.tags = new.tags then
        update public.product_tags
           set status = new.status, name = new.name, sku = new.sku, price = new.price
         where tenant_id = new.tenant_id and product_id = new.id;
    else
        delete from public.product_tags
         where tenant_id = new.tenant_id and product_id = new.id and tag <> all (new.tags);
        insert into public.product_tags (tenant_id, tag, created_at, product_id, status, name, sku, price)
        select new.tenant_id, unnest(new.tags), new.created_at, new.id, new.status, new.name, new.sku, new.price
        on conflict (tenant_id, tag, product_id) do update
           set status = excluded.status, name = excluded.name, sku = excluded.sku, price = excluded.price;
    end if;
    return null;
end $$;
revoke execute on function tag_products from public;
