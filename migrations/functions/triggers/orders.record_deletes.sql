-- The feed has each order that an undone import removed, and the quota its records.
create or replace trigger record_deletes after delete on orders
    referencing old table as changed_rows for each statement execute function record_sales('deleted');
