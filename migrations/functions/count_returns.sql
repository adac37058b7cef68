-- Completes refunds and cancellations that instances of releases before schema version 53 store.
create or replace function count_returns() returns trigger
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    changed record;
begin
    if tg_table_name = 'refund_items' then
        for changed in
            select n.tenant_id, array_agg(n.refund_id) as ids
              from (select distinct tenant_id, refund_id from new_rows) n
             cross join lateral (
                   select tax from refunds where tenant_id = n.tenant_id and id = n.refund_id limit 1) r
             where r.tax is null
             group by n.tenant_id
        loop
            perform fill_refunds(changed.tenant_id, changed.ids);
            perform add_refunds(changed.tenant_id, array(
                select r.id
                  from unnest(changed.ids) i (id)
                 cross join lateral (
                       select id, order_id from refunds where tenant_id = changed.tenant_id and id = i.id limit 1) r
                 where (
                       select order_id from cancellations where tenant_id = changed.tenant_id and order_id = r.order_id
                       ) is null), 1, true);
        end loop;
    else
        for changed in
            select n.tenant_id, array_agg(r.id) as ids
              from new_rows n
             cross join lateral ( -- waits for a transaction that fills the refunds
                   select id from refunds where tenant_id = n.tenant_id and order_id = n.order_id for no key update) r
             where not n.net
             group by n.tenant_id
        loop
            perform add_refunds(changed.tenant_id, changed.ids, -1, false);
        end loop;
    end if;
    return null;
end $$;
revoke execute on function count_returns from public;
