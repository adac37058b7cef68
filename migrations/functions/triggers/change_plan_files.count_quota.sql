-- Files of plans are storage, and new ones can be refused.
create or replace trigger count_quota after insert or delete on change_plan_files
    for each row execute function count_quota('change_plan_files');
