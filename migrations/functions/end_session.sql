-- Signs out one session, or all sessions of the person if everywhere is true.
create or replace function end_session(token bytea, everywhere boolean) returns void
language sql security definer
set search_path = pg_catalog, public, pg_temp
as $$
    delete from sessions s
     where s.token_hash = token
        or everywhere and s.user_id = (select o.user_id from sessions o where o.token_hash = token and live(o))
$$;
revoke execute on function end_session from public;
grant execute on function end_session to storeroom_runtime;
