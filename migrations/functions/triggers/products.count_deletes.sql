-- Lists and quotas count deleted products at once.
create or replace trigger count_deletes after delete on products
    referencing old table as old_rows for each statement execute function count_products();
