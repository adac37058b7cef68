-- The feed has which fields of products changed. Statements that change one product record it themselves.
create or replace trigger record_updates after update on products
    referencing old table as old_rows new table as new_rows for each statement
    when (current_setting('app.recorded', true) is distinct from statement_timestamp()::text)
    execute function record_products();
