-- Fills the sums of returns for existing refunds. First the refunds, which only cancellations and undone imports wait
-- for; then the rollups, which orders and refunds of the same days wait for. `storeroom rebuild` corrects days that
-- PostgreSQL's time zones give a refund and Storeroom's do not, and counts of refunds of an order that an instance of
-- the earlier version was cancelling at this moment.

-- The policies show the rows of the tenant.
set local row_security = on;

create temporary table filled (tenant_id bigint, refund_ids bigint[]) on commit drop;

do $$
declare
    tenant bigint;
    ids bigint[];
    last bigint;
begin
    for tenant in select id from tenants order by id loop
        execute format('set local app.tenant_id = %L', tenant);
        last := 0;
        loop
            ids := array(
                select r.id
                  from refunds r
                 where r.tenant_id = tenant and r.id > last and r.tax is null
                 order by r.id
                 limit 1000);
            exit when ids = '{}';
            perform fill_refunds(tenant, ids);
            insert into pg_temp.filled values (tenant, ids);
            last := ids[cardinality(ids)];
        end loop;
    end loop;
    for tenant in select id from tenants order by id loop
        execute format('set local app.tenant_id = %L', tenant);
        perform add_refunds(tenant, array(
            select r.id
              from pg_temp.filled f
             cross join unnest(f.refund_ids) i (id)
             cross join lateral (select id, order_id from refunds where tenant_id = tenant and id = i.id limit 1) r
             where f.tenant_id = tenant
               and (select order_id from cancellations c where c.tenant_id = tenant and c.order_id = r.order_id) is null),
            1, true);
    end loop;
    set local app.tenant_id = '';
end $$;
