-- The task that packs sums visits only tenants with new marks. It takes over the tenants in the queues of the tasks of the
-- previous release when the trigger is created, while that locks the table.
create or replace trigger queue_task after insert on unpacked_sums
    referencing new table as new_rows for each statement execute function queue_task('pack_sums');
update tenants_with_work set task = 'pack_sums', worker = null where task in ('pack_product_sums', 'pack_customers');
