-- The feed has each order, and the quota its records.
create or replace trigger record_inserts after insert on orders
    referencing new table as changed_rows for each statement execute function record_sales('created');
