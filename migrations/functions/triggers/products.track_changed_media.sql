-- A file that a product begins to use was reserved, and one that it no longer uses is due for deletion.
create or replace trigger track_changed_media after update of images on products
    for each row when (old.images is distinct from new.images)
    execute function track_media();
