-- Sets when a day of the rollups changed last, which reports show. Each time is later than the one before, also if the
-- clock was set back.
create or replace function set_changed_at() returns trigger
language plpgsql
as $$
begin
    new.changed_at := greatest(clock_timestamp(), old.changed_at + interval '1 microsecond');
    return new;
end $$;
revoke execute on function set_changed_at from public;
