-- Instances of releases before schema version 53 cancel orders without subtracting the returns.
create or replace trigger count_returns after insert on cancellations
    referencing new table as new_rows for each statement execute function count_returns();
