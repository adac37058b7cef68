-- Instances that delete files visit only tenants with unused files.
create or replace trigger queue_task after insert on unused_media
    referencing new table as new_rows for each statement execute function queue_task('claim_unused_media');
