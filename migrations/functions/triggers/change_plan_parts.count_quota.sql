-- Rows and results of plans are storage, and new rows can be refused.
create or replace trigger count_quota after insert or delete or update of rows, result on change_plan_parts
    for each row execute function count_quota('change_plan_parts');
