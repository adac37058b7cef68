-- Reports show when a day changed last, whichever statement and release changed it.
create or replace trigger set_changed_at before update on sales_rollups
    for each row when (new.kind = 1)
    execute function set_changed_at();
