-- No tenant can make a file of another one due for deletion, not even with the runtime role. Instances that delete files
-- visit only tenants with unused files.
create or replace trigger check_file_owner before insert on unused_media
    for each row execute function check_file_owner();
