-- The feed has each deleted product.
create or replace trigger record_deletes after delete on products
    referencing old table as old_rows for each statement execute function record_products();
