-- The feed has each order, the quota its records, and the report by customer its day.
create or replace trigger record_inserts after insert on orders
    referencing new table as new_rows for each statement execute function record_sales();
