-- The feed has each undone import of refunds, and the quota its records.
create or replace trigger record_deletes after delete on refunds
    referencing old table as changed_rows for each statement execute function record_sales('deleted');
