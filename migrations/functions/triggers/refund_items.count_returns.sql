-- Instances of releases before schema version 53 store refunds without their parts and sums.
create or replace trigger count_returns after insert on refund_items
    referencing new table as new_rows for each statement execute function count_returns();
