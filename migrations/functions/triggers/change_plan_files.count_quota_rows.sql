-- Files of plans are storage, and can be refused.
create or replace trigger count_quota_rows after insert on change_plan_files
    for each row execute function count_quota_of_row('change_plan_files');
