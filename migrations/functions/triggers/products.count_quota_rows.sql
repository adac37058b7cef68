-- A statement that records its change itself has no record_updates that counts the bytes.
create or replace trigger count_quota_rows after update of sku, name, description, bin_location, upc, tags, images
    on products
    for each row
    when (octet_length(new.sku) <> octet_length(old.sku) or octet_length(new.name) <> octet_length(old.name)
          or new.description is distinct from old.description or new.bin_location is distinct from old.bin_location
          or new.upc is distinct from old.upc or new.tags <> old.tags or new.images <> old.images)
    execute function count_quota_of_row('products');
