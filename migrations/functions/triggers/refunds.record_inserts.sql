-- The feed has each refund, the quota its record, and the report by customer its day.
create or replace trigger record_inserts after insert on refunds
    referencing new table as new_rows for each statement execute function record_sales();
