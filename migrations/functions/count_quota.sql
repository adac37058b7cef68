-- Counts rows for the quotas: new ones of the ledger, and each new, changed or deleted one of plans, responses and
-- deliveries. Rows of the ledger that no order writes, those of new plans, and responses can be refused.
create or replace function count_quota() returns trigger
language plpgsql
as $$
declare
    stored record := case tg_op when 'DELETE' then old else new end;
    bytes bigint;
    refusable boolean := false;
begin
    case tg_argv[0] -- rows of partitions have other names of tables
    when 'inventory_adjustments' then
        perform public.add_to_quota(min(n.tenant_id), 0, count(*), bool_or(n.reason is null)) from new_rows n;
        return null;
    when 'change_plan_parts' then
        bytes := octet_length(stored.rows) + coalesce(octet_length(stored.result), 0);
        if tg_op = 'UPDATE' then
            bytes := bytes - octet_length(old.rows) - coalesce(octet_length(old.result), 0);
        end if;
        refusable := tg_op = 'INSERT';
    when 'change_plan_files' then
        bytes := octet_length(stored.bytes);
        refusable := tg_op = 'INSERT';
    when 'idempotency_keys' then
        bytes := coalesce(octet_length(stored.body), 0);
        if tg_op = 'UPDATE' then
            bytes := bytes - coalesce(octet_length(old.body), 0);
        end if;
        refusable := tg_op = 'UPDATE' and bytes > 0;
    when 'webhook_deliveries' then
        bytes := octet_length(stored.response) + coalesce(octet_length(stored.error), 0);
        if tg_op = 'UPDATE' then
            bytes := bytes - octet_length(old.response) - coalesce(octet_length(old.error), 0);
        end if;
    end case;
    perform public.add_to_quota(stored.tenant_id, case tg_op when 'DELETE' then -bytes else bytes end, 0, refusable);
    return null;
end $$;
revoke execute on function count_quota from public;
