-- Lists, quotas and the feed have new products at once; a product above the quota is refused.
create or replace trigger inserted after insert on products
    referencing new table as new_rows for each statement execute function products_inserted();
