-- A refund changes the report by customer on its day.
create or replace trigger unpack_customers after insert on refunds
    referencing new table as changed_rows for each statement execute function unpack_customers();
