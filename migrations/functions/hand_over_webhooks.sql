-- Gives the webhooks of a key or a member to another maker, or to the operator. roll_key and end_maker call it.
create or replace function hand_over_webhooks(
    from_type text, from_id bigint, to_type text, to_id bigint, to_name text, to_expires_at timestamptz) returns void
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
begin
    perform set_config('citus.propagate_set_commands', 'local', true);
    execute format('set local app.tenant_id = %L', tenant); -- also on the node with the webhooks
    update webhooks w
       set maker_type = to_type, maker_id = to_id, maker_name = to_name, maker_expires_at = to_expires_at,
           next_attempt_at = w.next_attempt_at -- fires queue_webhook
     where w.tenant_id = tenant and w.maker_type = from_type and w.maker_id = from_id;
end $$;
revoke execute on function hand_over_webhooks from public;
