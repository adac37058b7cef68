-- The deliveries of a deleted webhook are deleted later, because there can be many.
create or replace trigger queue_task after delete on webhooks
    referencing old table as new_rows for each statement execute function queue_task('delete_unused_deliveries');
