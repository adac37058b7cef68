-- The audit log of each tenant of an account has its sign-ins, and one row for each hour and network of failed ones.
-- The network of failed sign-ins beyond the first twenty networks in an hour is null, so that an attacker with many
-- addresses cannot fill the log.
create unique index audit_log_failed_sign_ins
    on audit_log (tenant_id, target, date_trunc('hour', at at time zone 'UTC'), address) nulls not distinct
 where action = 'sign_in.failed';

comment on table audit_log is
    'Sign-ins, exports of personal data, and changes of keys, members, plan and settings: actor, action, target and address. A row is written in the transaction of the change and never changes, but failed sign-ins of an hour are counted in one row. actor is an e-mail address, or operator for a command.';

-- sign_in is begin_session with entries in the audit log.
create function sign_in(token bytea, account text, proof bytea, network text) returns boolean
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp
as $function$
begin
    if not begin_session(token, account, proof) then
        return false;
    end if;
    perform log_person(u.id, 'sign_in', network, false) from users u where u.email = lower(account);
    return true;
end $function$;

-- log_failed_sign_in counts a wrong password for an account. It does nothing if the address has no account.
create function log_failed_sign_in(account text, network text) returns void
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp
as $function$
declare
    tenant bigint;
    before text := coalesce(current_setting('app.tenant_id', true), '');
    hour   timestamp := date_trunc('hour', now() at time zone 'UTC');
begin
    for tenant in
        select m.tenant_id from memberships m join users u on u.id = m.user_id where u.email = lower(account) order by 1
    loop
        perform set_config('app.tenant_id', tenant::text, true);
        insert into audit_log as a (tenant_id, actor, address, action, target, details, at)
        select tenant, 'unknown', case when count(*) < 20 or bool_or(f.address = network) then network end,
               'sign_in.failed', lower(account), '{"attempts": 1}', now()
          from audit_log f
         where f.tenant_id = tenant and f.target = lower(account) and f.action = 'sign_in.failed'
           and date_trunc('hour', f.at at time zone 'UTC') = hour
        on conflict (tenant_id, target, date_trunc('hour', at at time zone 'UTC'), address)
              where action = 'sign_in.failed'
        do update set details = jsonb_build_object('attempts', (a.details->>'attempts')::bigint + 1);
    end loop;
    perform set_config('app.tenant_id', before, true);
end $function$;

revoke execute on function sign_in, log_failed_sign_in from public;
grant execute on function sign_in, log_failed_sign_in to storeroom_runtime;
