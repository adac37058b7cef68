-- The response and the error of a delivery are storage.
create or replace trigger count_quota_updates after update on webhook_deliveries
    referencing old table as changed_rows new table as new_rows for each statement
    execute function count_quota('webhook_deliveries');
