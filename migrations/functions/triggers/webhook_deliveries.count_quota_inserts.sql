-- Deliveries are storage, which is never refused.
create or replace trigger count_quota_inserts after insert on webhook_deliveries
    referencing new table as changed_rows for each statement execute function count_quota('webhook_deliveries');
