-- The feed has new products of bulk requests and imports. The statement that creates one product records it itself.
create or replace trigger record_inserts after insert on products
    referencing new table as new_rows for each statement
    when (current_setting('app.recorded', true) is distinct from statement_timestamp()::text)
    execute function record_products();
