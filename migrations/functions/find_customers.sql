-- Searches the texts of customers, as find_products does, and returns their ids.
grant create on schema public to storeroom_search;
set local role storeroom_search;
create or replace function find_customers(patterns text[], earlier_patterns text[]) returns bigint[]
language plpgsql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    tenant     bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    conditions text := 't.tenant_id = $1';
    pattern    text;
    ids        bigint[];
begin
    if cardinality(patterns) = 0 then
        raise 'find_customers: no patterns';
    end if;
    if exists (select from unfilled_texts u where u.tenant_id = tenant and u.kind = 'customer' and u.first_id <= u.last_id) then
        return case when cardinality(earlier_patterns) = 0 then '{}' else search_customers(earlier_patterns) end;
    end if;
    foreach pattern in array patterns loop
        conditions := conditions || format(' and t.text like %L', pattern);
    end loop;
    -- The order must not make PostgreSQL read the texts by their ids.
    execute 'with found as materialized (select t.customer_id as id from public.customer_texts t where ' || conditions
            || ') select array(select f.id from found f order by f.id)'
       into ids
      using tenant;
    return ids;
end $$;
revoke execute on function find_customers from public;
grant execute on function find_customers to storeroom_runtime;
set local role storeroom_owner;
revoke create on schema public from storeroom_search;
