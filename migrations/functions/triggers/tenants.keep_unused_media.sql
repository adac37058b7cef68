-- The files of a deleted tenant must still be deleted. On a cluster tenancy/tenants does it, because the files are in
-- shards.
create or replace trigger keep_unused_media after delete on tenants
    for each row execute function keep_unused_media();
