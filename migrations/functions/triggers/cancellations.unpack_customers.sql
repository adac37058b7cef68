-- A cancellation changes the report by customer on the days of the order and of its refunds.
create or replace trigger unpack_customers after insert on cancellations
    referencing new table as changed_rows for each statement execute function unpack_customers();
