-- Stores the language that the person of a session has chosen. It returns false if the session has ended.
create or replace function set_language(token bytea, chosen text) returns boolean
language sql security definer
set search_path = pg_catalog, public, pg_temp
as $$
    with changed as (
        update users u set language = chosen
          from sessions s
         where s.token_hash = token and live(s) and u.id = s.user_id
        returning u.id
    )
    select exists (select from changed)
$$;
revoke execute on function set_language from public;
grant execute on function set_language to storeroom_runtime;
