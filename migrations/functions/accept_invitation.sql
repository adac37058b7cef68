-- Makes a person a member and begins a session; it creates the account if there is none and may_create is true. The
-- outcome is joined, refused, or ended for a link that cannot be used.
create or replace function accept_invitation(token bytea, proof bytea, may_create boolean, session bytea)
returns table (outcome text, user_id bigint)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    link one_time_links;
begin
    select * into link from one_time_links l
     where l.token_hash = token and l.purpose = 'invitation' and l.expires_at > now() for update;
    if not found then
        outcome := 'ended';
        return next;
        return;
    end if;
    if may_create then
        insert into users (email, password_parameters, password_verifier)
        values (link.email, password_parameters(link.email), sha256(proof))
        on conflict (email) do nothing;
    end if;
    select u.id into user_id
      from users u
     where u.email = link.email and u.password_verifier = sha256(proof)
       for update;
    if not found then
        outcome := 'refused';
        return next;
        return;
    end if;
    insert into memberships (tenant_id, user_id, role)
    values (link.tenant_id, accept_invitation.user_id, link.role)
    on conflict do nothing;
    update one_time_links l set expires_at = 'epoch' where l.token_hash = token;
    insert into sessions (token_hash, user_id) values (session, accept_invitation.user_id);
    outcome := 'joined';
    return next;
end $$;
revoke execute on function accept_invitation from public;
grant execute on function accept_invitation to storeroom_runtime;
