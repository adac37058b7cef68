-- An order changes the report by customer on its day.
create or replace trigger unpack_customers after insert on orders
    referencing new table as changed_rows for each statement execute function unpack_customers();
