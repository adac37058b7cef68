-- Deleted rows of plans are no longer storage.
create or replace trigger count_quota_deletes after delete on change_plan_parts
    referencing old table as changed_rows for each statement execute function count_quota('change_plan_parts');
