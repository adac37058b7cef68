-- The feed has each refund, and the quota its record.
create or replace trigger record_inserts after insert on refunds
    referencing new table as changed_rows for each statement execute function record_sales('created');
