-- Returns the key or the member that makes a change of a webhook, and locks it, so that a concurrent revocation waits
-- and sees what was made.
create or replace function lock_maker(key_id bigint, token bytea)
returns table (maker_type text, maker_id bigint, maker_name text, expires_at timestamptz)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    k      api_keys;
begin
    if key_id is null then
        return query
            select 'member', m.user_id, u.email::text, null::timestamptz
              from memberships m
              join users u on u.id = m.user_id
             where m.tenant_id = tenant and m.user_id = acting_member(token, '{owner,admin}')
               for share of m;
        return;
    end if;
    loop
        select * into k
          from api_keys a
         where a.tenant_id = tenant and a.id = lock_maker.key_id
           and a.revoked_at is null and (a.expires_at is null or a.expires_at > now())
           for share;
        exit when not found;
        maker_type := 'key';
        maker_id := k.id;
        maker_name := k.name;
        expires_at := k.expires_at;
        exit when k.replaced_by is null;
        key_id := k.replaced_by;
    end loop;
    if maker_id is not null then
        return next;
    end if;
end $$;
revoke execute on function lock_maker from public;
grant execute on function lock_maker to storeroom_runtime;
