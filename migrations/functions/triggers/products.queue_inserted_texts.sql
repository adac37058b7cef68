-- The previous release inserts products without texts, which a search would not find.
create or replace trigger queue_inserted_texts after insert on products
    referencing new table as new_rows for each statement
    when (current_setting('app.text_version', true) is distinct from '1')
    execute function queue_texts('product');
