-- The day of a moment in a time zone, as tenancy.DayOf computes it, for refund_sums: a day begins at its first
-- midnight.
create or replace function local_day(at timestamptz, zone text) returns date
language sql stable
as $$
    select d.day + case when exists (
               select from unnest('{30 minutes,1 hour,2 hours}'::interval[]) i (change)
                where ((d.day + 1)::timestamp at time zone zone) - i.change <= at
                  and (((d.day + 1)::timestamp at time zone zone) - i.change) at time zone zone = (d.day + 1)::timestamp)
           then 1 else 0 end
      from (values ((at at time zone zone)::date)) d (day)
$$;
revoke execute on function local_day from public;
