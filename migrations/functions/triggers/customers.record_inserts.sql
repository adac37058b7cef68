-- The feed has each new customer, and a search those that a release with other texts inserts.
create or replace trigger record_inserts after insert on customers
    referencing new table as new_rows for each statement execute function record_customers();
