-- Counts the rows of a statement for the quotas: deleted ones, changed deliveries, and new ones of the ledger. Only a
-- row of the ledger that no order writes can be refused.
create or replace function count_quota() returns trigger
language plpgsql
as $$
begin
    case tg_argv[0] -- rows of partitions have other names of tables
    when 'inventory_adjustments' then
        perform public.add_to_quota(min(c.tenant_id), 0, count(*), bool_or(c.reason is null)) from changed_rows c;
    when 'change_plan_parts' then
        perform public.add_to_quota(
                    min(c.tenant_id), -sum(octet_length(c.rows) + coalesce(octet_length(c.result), 0)), 0, false)
           from changed_rows c;
    when 'change_plan_files' then
        perform public.add_to_quota(min(c.tenant_id), -sum(octet_length(c.bytes)), 0, false) from changed_rows c;
    when 'idempotency_keys' then
        perform public.add_to_quota(min(c.tenant_id), -sum(coalesce(octet_length(c.body), 0)), 0, false)
           from changed_rows c;
    when 'webhook_deliveries' then
        perform public.add_to_quota(
                    min(c.tenant_id), (case tg_op when 'INSERT' then 1 else -1 end
                                       * sum(public.delivery_bytes(c.response, c.error)))::bigint, 0, false)
           from changed_rows c;
        if tg_op = 'UPDATE' then
            perform public.add_to_quota(min(c.tenant_id), sum(public.delivery_bytes(c.response, c.error))::bigint, 0, false)
               from new_rows c;
        end if;
    end case;
    return null;
end $$;
revoke execute on function count_quota from public;
