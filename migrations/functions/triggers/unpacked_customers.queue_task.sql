-- The task that packs customers visits only tenants with marked days.
create or replace trigger queue_task after insert on unpacked_customers
    referencing new table as new_rows for each statement execute function queue_task('pack_customers');
