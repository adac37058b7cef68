-- The task that fills texts visits only tenants with unfilled texts.
create or replace trigger queue_task after insert on unfilled_texts
    referencing new table as new_rows for each statement execute function queue_task('fill_texts');
