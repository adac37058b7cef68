-- Queues the products and customers that a release with another rule of search texts writes, and deletes texts that are
-- no longer right.
create or replace function queue_texts() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if tg_op = 'INSERT' then
        insert into unfilled_texts (tenant_id, kind, first_id, last_id)
        select n.tenant_id, tg_argv[0], min(n.id), max(n.id) from new_rows n group by n.tenant_id;
        return null;
    end if;
    if tg_argv[0] = 'product' then
        delete from product_texts t where t.tenant_id = new.tenant_id and t.product_id = new.id;
    else
        delete from customer_texts t where t.tenant_id = new.tenant_id and t.customer_id = new.id;
    end if;
    insert into unfilled_texts (tenant_id, kind, first_id, last_id)
    values (new.tenant_id, tg_argv[0], new.id, new.id);
    return null;
end $$;
revoke execute on function queue_texts from public;
