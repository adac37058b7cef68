-- The task that packs sums visits only tenants with marked months.
create or replace trigger queue_task after insert on unpacked_sums
    referencing new table as new_rows for each statement execute function queue_task('pack_product_sums');
