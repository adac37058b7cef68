-- The feed has each change of a seller.
create or replace trigger record_changes after insert or delete or update on sellers
    for each row execute function record_row('seller', 'id');
