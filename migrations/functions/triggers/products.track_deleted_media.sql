-- The files of a deleted product are due for deletion.
create or replace trigger track_deleted_media after delete on products
    for each row when (old.images <> '[]')
    execute function track_media();
