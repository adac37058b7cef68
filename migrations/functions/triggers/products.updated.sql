-- Lists, quotas and searches follow what a product is, and its files what it uses. A change of stock does not fire it.
create or replace trigger updated after update of sku, name, description, price, status, category_id, seller_id, warehouse_id,
        bin_location, upc, tags, images on products
    for each row
    when (old.status <> new.status or old.category_id is distinct from new.category_id
          or old.seller_id is distinct from new.seller_id or old.warehouse_id <> new.warehouse_id or old.tags <> new.tags
          or old.sku <> new.sku or old.name <> new.name or old.upc is distinct from new.upc
          or old.price <> new.price and new.tags <> '{}' or old.images <> new.images
          or old.description is distinct from new.description or old.bin_location is distinct from new.bin_location)
    execute function products_updated();
