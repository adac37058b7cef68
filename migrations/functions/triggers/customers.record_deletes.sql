-- The feed has each deleted customer.
create or replace trigger record_deletes after delete on customers
    referencing old table as old_rows for each statement execute function record_customers();
