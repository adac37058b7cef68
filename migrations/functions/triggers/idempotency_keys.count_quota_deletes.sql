-- Deleted responses are no longer storage.
create or replace trigger count_quota_deletes after delete on idempotency_keys
    referencing old table as changed_rows for each statement execute function count_quota('idempotency_keys');
