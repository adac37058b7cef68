-- The feed has each cancellation.
create or replace trigger record_inserts after insert on cancellations
    referencing new table as changed_rows for each statement execute function record_sales('created');
