-- Whether a one-time link can still be used. A reset by an owner ends when the account belongs to another tenant too.
create or replace function usable(l one_time_links) returns boolean
language sql stable
as $$
    select l.expires_at > now()
       and (l.purpose = 'invitation' or l.tenant_id is null or array[l.tenant_id] = array(
               select m.tenant_id from memberships m join users u on u.id = m.user_id where u.email = l.email))
$$;
revoke execute on function usable from public;
