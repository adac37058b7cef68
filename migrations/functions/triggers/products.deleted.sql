-- Lists, quotas and the feed follow deletions, and the files of a deleted product are due for deletion.
create or replace trigger deleted after delete on products
    referencing old table as old_rows for each statement execute function products_deleted();
