-- Lists and quotas count new products at once; a product above the quota is refused.
create or replace trigger count_inserts after insert on products
    referencing new table as new_rows for each statement execute function count_products();
