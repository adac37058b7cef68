-- The feed has which fields of a customer changed, and a search those that a release with other texts changes.
create or replace trigger record_updates after update on customers
    referencing old table as old_rows new table as new_rows for each statement execute function record_customers();
