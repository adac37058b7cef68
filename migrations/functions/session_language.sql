-- Returns the language that the person of a session has chosen, or null. Each request of a page calls it.
create or replace function session_language(token bytea) returns text
language sql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
    select u.language from sessions s join users u on u.id = s.user_id where s.token_hash = token and live(s)
$$;
revoke execute on function session_language from public;
grant execute on function session_language to storeroom_runtime;
