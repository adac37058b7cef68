-- Lists count a product with its new status, references and tags. A change of stock does not fire it.
create or replace trigger count_updates after update of status, category_id, seller_id, warehouse_id, tags on products
    for each row
    when (old.status is distinct from new.status or old.category_id is distinct from new.category_id
          or old.seller_id is distinct from new.seller_id or old.warehouse_id is distinct from new.warehouse_id
          or old.tags is distinct from new.tags)
    execute function count_products();
