-- Searches customers as the previous release does, without customer_texts. find_customers calls it while texts are
-- missing.
grant create on schema public to storeroom_search;
set local role storeroom_search;
create or replace function search_customers(patterns text[]) returns bigint[]
language plpgsql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    conditions text := 'tenant_id = $1';
    pattern    text;
    ids        bigint[];
begin
    if cardinality(patterns) = 0 then
        raise 'search_customers: no patterns';
    end if;
    foreach pattern in array patterns loop
        conditions := conditions || format(' and customer_text(number, name, email) like lower(%L)', pattern);
    end loop;
    execute 'select array(select id from public.customers where ' || conditions || ' order by id)'
       into ids
      using nullif(current_setting('app.tenant_id', true), '')::bigint;
    return ids;
end $$;
revoke execute on function search_customers from public;
grant execute on function search_customers to storeroom_runtime;
set local role storeroom_owner;
revoke create on schema public from storeroom_search;
