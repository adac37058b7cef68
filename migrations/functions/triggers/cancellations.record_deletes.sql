-- The feed has each undone import of cancellations.
create or replace trigger record_deletes after delete on cancellations
    referencing old table as changed_rows for each statement execute function record_sales('deleted');
