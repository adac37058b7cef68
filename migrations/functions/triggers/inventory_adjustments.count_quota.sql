-- Rows of the ledger are records. The statement that creates a product counts its row itself.
create or replace trigger count_quota after insert on inventory_adjustments
    referencing new table as new_rows for each statement
    when (current_setting('app.counted', true) is distinct from statement_timestamp()::text)
    execute function count_quota('inventory_adjustments');
