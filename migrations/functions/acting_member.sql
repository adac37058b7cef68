-- Returns the person of a session who is a member of the current tenant in one of the roles, or null. Functions that
-- check a session call it.
create or replace function acting_member(token bytea, roles text[]) returns bigint
language sql stable
as $$
    select m.user_id
      from sessions s
      join memberships m on m.user_id = s.user_id
     where s.token_hash = token and live(s) and m.role = any (roles)
       and m.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint
$$;
revoke execute on function acting_member from public;
