-- The feed has each change of a warehouse.
create or replace trigger record_changes after insert or delete or update on warehouses
    for each row execute function record_row('warehouse', 'id');
