-- Lists of a tag read product_tags.
create or replace trigger tag_inserts after insert on products
    referencing new table as new_rows for each statement execute function tag_products();
