-- Deleted deliveries are no longer storage.
create or replace trigger count_quota_deletes after delete on webhook_deliveries
    referencing old table as changed_rows for each statement execute function count_quota('webhook_deliveries');
