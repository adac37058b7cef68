-- The feed has each cancellation, which changes the report by customer on the days of the order and of its refunds.
create or replace trigger record_inserts after insert on cancellations
    referencing new table as new_rows for each statement execute function record_sales();
