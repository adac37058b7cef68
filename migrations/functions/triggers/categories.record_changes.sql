-- The feed has each change of a category.
create or replace trigger record_changes after insert or delete or update on categories
    for each row execute function record_row('category', 'id');
