-- Lists of a tag read product_tags. A change of stock does not fire it.
create or replace trigger tag_updates after update of status, name, sku, price, tags on products
    for each row
    when ((old.tags <> '{}' or new.tags <> '{}') and (old.status is distinct from new.status
          or old.name is distinct from new.name or old.sku is distinct from new.sku
          or old.price is distinct from new.price or old.tags is distinct from new.tags))
    execute function tag_products();
