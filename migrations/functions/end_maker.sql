-- Pauses the webhooks of a key or a member that is gone, or hands them over to the person who keeps them running.
-- revoke_key and set_member call it.
create or replace function end_maker(of_type text, of_id bigint, person bigint, keep boolean) returns void
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    -- A generic plan of an update on a cluster fails with functions that are not immutable.
    moment constant timestamptz := clock_timestamp();
    grace_end constant timestamptz := moment + interval '30 seconds';
begin
    if keep then
        perform hand_over_webhooks(of_type, of_id, case when person is not null then 'member' end, person,
                                   (select u.email from users u where u.id = person), null);
        return;
    end if;
    perform set_config('citus.propagate_set_commands', 'local', true);
    execute format('set local app.tenant_id = %L', tenant);
    update webhooks w
       set state = 'paused', pause_reason = 'maker_gone', paused_at = coalesce(w.paused_at, moment), message_end = null,
           worker = null, updated_at = moment,
           lease_until = case when w.lease_until > moment then least(w.lease_until, grace_end) end
     where w.tenant_id = tenant and w.maker_type = of_type and w.maker_id = of_id;
end $$;
revoke execute on function end_maker from public;
