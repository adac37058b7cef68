-- Whether a session has not ended. All functions that check a session call it.
create or replace function live(s sessions) returns boolean
language sql stable
as $$
    select s.seen_at >= now() - interval '30 minutes' and s.created_at >= now() - interval '12 hours'
$$;
revoke execute on function live from public;
