-- Counts a row for the quotas where a statement writes only one. Rows and files of new plans, a product that grows, and
-- the response of a request can be refused.
create or replace function count_quota_of_row() returns trigger
language plpgsql
as $$
declare
    bytes bigint;
    refusable boolean := false;
begin
    case tg_argv[0] -- rows of partitions have other names of tables
    when 'products' then
        if current_setting('app.recorded', true) is distinct from statement_timestamp()::text then
            return null; -- record_products counts
        end if;
        bytes := public.product_bytes(new.sku, new.name, new.description, new.bin_location, new.upc, new.tags, new.images)
                 - public.product_bytes(old.sku, old.name, old.description, old.bin_location, old.upc, old.tags, old.images);
        refusable := bytes > 0;
    when 'change_plan_parts' then
        bytes := octet_length(new.rows) + coalesce(octet_length(new.result), 0);
        if tg_op = 'UPDATE' then
            bytes := bytes - octet_length(old.rows) - coalesce(octet_length(old.result), 0);
        end if;
        refusable := tg_op = 'INSERT';
    when 'change_plan_files' then
        bytes := octet_length(new.bytes);
        refusable := true;
    when 'idempotency_keys' then
        bytes := coalesce(octet_length(new.body), 0) - coalesce(octet_length(old.body), 0);
        refusable := bytes > 0;
    end case;
    perform public.add_to_quota(new.tenant_id, bytes, 0, refusable);
    return null;
end $$;
revoke execute on function count_quota_of_row from public;
