-- What a search compares is normalised in a way that PostgreSQL cannot compute, so the program stores it in tables of
-- its own. A change of a price then does not touch their indexes.
--
-- unfilled_texts has the objects whose texts are missing or outdated: those of 0058, and those that instances of the
-- earlier release write. While a tenant has any, its objects are searched as before.

-- Requests that wait behind these locks fail after two seconds, so it gives up before and tries again.
do $$
begin
    perform set_config('lock_timeout', '500ms', true); -- each of three locks
    for retries in reverse 20..0 loop
        begin
            lock table tenants, products, customers in share row exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
end $$;

create table product_texts (
    tenant_id  bigint not null,
    product_id bigint not null,
    version    smallint not null,
    text       text collate "C" not null,
    primary key (tenant_id, product_id),
    foreign key (tenant_id, product_id) references products (tenant_id, id) on delete cascade
) with (fillfactor = 90);
comment on table product_texts is 'What a search compares of a product: name, SKU and barcode, normalised by the package searchtext.';
comment on column product_texts.version is 'The version of the rule that made the text.';
create index product_texts_search on product_texts using gin (tenant_id, text gin_trgm_ops) with (gin_pending_list_limit = 256);

create table customer_texts (
    tenant_id   bigint not null,
    customer_id bigint not null,
    version     smallint not null,
    text        text collate "C" not null,
    primary key (tenant_id, customer_id),
    foreign key (tenant_id, customer_id) references customers (tenant_id, id) on delete cascade
) with (fillfactor = 90);
comment on table customer_texts is 'What a search compares of a customer: id, name and e-mail, normalised by the package searchtext. It is personal data.';
comment on column customer_texts.version is 'The version of the rule that made the text.';
create index customer_texts_search on customer_texts using gin (tenant_id, text gin_trgm_ops) with (gin_pending_list_limit = 256);

create table unfilled_texts (
    tenant_id bigint not null references tenants (id) on delete cascade,
    id        bigint not null generated always as identity,
    kind      text collate "C" not null check (kind in ('product', 'customer')),
    first_id  bigint not null,
    last_id   bigint not null,
    primary key (tenant_id, kind, id)
);
comment on table unfilled_texts is 'Ranges of ids of products or customers that may lack a current text. Each statement of an instance of another release adds its own row, so that none waits for another. The task that fills the texts deletes them.';

do $$
declare
    name text;
begin
    foreach name in array '{product_texts,customer_texts,unfilled_texts}'::text[] loop
        execute format($ddl$
            alter table %1$I alter tenant_id set statistics 0;
            alter table %1$I enable row level security, force row level security;
            create policy tenant on %1$I
                using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
                with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
            grant select, insert, update, delete on %1$I to storeroom_runtime;
            grant select on %1$I to storeroom_search;
            -- Row-level security would keep LIKE from using the index, as in search_products.
            create policy search on %1$I for select to storeroom_search using (true)$ddl$, name);
        if name <> 'unfilled_texts' then
            execute format('alter table %I alter text set statistics 0', name);
        end if;
    end loop;
end $$;

create trigger queue_task after insert on unfilled_texts
    referencing new table as new_rows for each statement execute function queue_task('fill_texts');

-- Queues the objects that a program without the current rule writes, and deletes texts that are no longer right.
create function queue_texts() returns trigger
    language plpgsql set search_path = pg_catalog, public, pg_temp as $$
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

create trigger queue_inserted_texts after insert on products
    referencing new table as new_rows for each statement
    when (current_setting('app.text_version', true) is distinct from '1') execute function queue_texts('product');
create trigger queue_updated_texts after update of name, sku, upc on products
    for each row when (current_setting('app.text_version', true) is distinct from '1'
                       and (old.name, old.sku, old.upc) is distinct from (new.name, new.sku, new.upc))
    execute function queue_texts('product');
create trigger queue_inserted_texts after insert on customers
    referencing new table as new_rows for each statement
    when (current_setting('app.text_version', true) is distinct from '1') execute function queue_texts('customer');
create trigger queue_updated_texts after update of number, name, email on customers
    for each row when (current_setting('app.text_version', true) is distinct from '1'
                       and (old.number, old.name, old.email) is distinct from (new.number, new.name, new.email))
    execute function queue_texts('customer');

-- next_unfilled_tenant returns the first tenant after the given one that has unfilled texts.
create function next_unfilled_tenant(after_tenant bigint) returns bigint
    language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    tenant bigint := after_tenant;
    is_unfilled boolean := false;
begin
    for visits in 1..100 loop
        tenant := next_tenant_with_work('fill_texts', tenant);
        exit when tenant is null;
        perform set_config('app.tenant_id', tenant::text, true);
        with seen as (
            delete from tenants_with_work w where w.task = 'fill_texts' and w.tenant_id = tenant
        )
        insert into tenants_with_work (tenant_id, task)
        select tenant, 'fill_texts'
         where exists (select from unfilled_texts u where u.tenant_id = tenant);
        is_unfilled := found;
        exit when is_unfilled;
    end loop;
    perform set_config('app.tenant_id', before, true);
    return tenant;
end $$;
revoke execute on function next_unfilled_tenant from public;
grant execute on function next_unfilled_tenant to storeroom_runtime;

-- find_products is search_products with the texts: patterns are compared with them, and earlier_patterns with
-- products.search while the tenant has unfilled texts. Each product that is found is looked up by its key.
create function find_products(
    patterns text[], earlier_patterns text[], narrow jsonb, sort text, descending boolean, page_limit bigint,
    page_offset bigint)
returns table (ids bigint[], total bigint)
    language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    tenant     bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    conditions text := 't.tenant_id = $1';
    beyond     text := 'true';
    direction  text := case when descending then 'desc' else 'asc' end;
    value      text;
begin
    if sort <> all (array['created_at', 'name', 'sku', 'price']) or cardinality(patterns) = 0 then
        raise 'find_products: sort % of % patterns', sort, cardinality(patterns);
    end if;
    if exists (select from unfilled_texts u where u.tenant_id = tenant and u.kind = 'product' and u.first_id <= u.last_id) then
        return query select s.ids, s.total from search_products(
            earlier_patterns, narrow, sort, descending, page_limit, page_offset) s;
        return;
    end if;
    foreach value in array patterns loop
        conditions := conditions || format(' and t.text like %L', value);
    end loop;
    foreach value in array array['status', 'category_id', 'seller_id', 'warehouse_id'] loop
        if narrow ? value then
            conditions := conditions || format(' and p.%I = %L', value, narrow ->> value);
        end if;
    end loop;
    if narrow ? 'tag' then
        conditions := conditions || format(' and %L = any (p.tags)', narrow ->> 'tag');
    end if;
    if narrow ? 'from' then
        conditions := conditions || format(' and p.created_at >= %L', narrow ->> 'from');
    end if;
    if narrow ? 'before' then
        conditions := conditions || format(' and p.created_at < %L', narrow ->> 'before');
    end if;
    if narrow ? 'since' then
        conditions := conditions || format(' and p.updated_at >= %L', narrow ->> 'since');
    end if;
    if narrow ? 'after_id' then
        beyond := format('(h.key, h.id) %s (%L, %L)', case when descending then '<' else '>' end,
            narrow ->> 'after_key', narrow ->> 'after_id');
    end if;
    -- PostgreSQL reads the primary key, because no index of products contains updated_at. Without limit 1 it could begin
    -- with the products.
    return query execute format($q$
        with hits as materialized (
        select p.id, p.%1$I as key
          from public.product_texts t
         cross join lateral (
               select id, status, category_id, seller_id, warehouse_id, tags, created_at, updated_at, name, sku, price
                 from public.products
                where tenant_id = $1 and id = t.product_id and updated_at >= '-infinity' limit 1) p
         where %2$s
        )
        select array(select h.id from hits h where %3$s order by h.key %4$s, h.id %4$s limit $2 offset $3),
               (select count(*) from hits)
        $q$, sort, conditions, beyond, direction)
        using tenant, page_limit, page_offset;
end $$;

-- find_customers is search_customers with the texts.
create function find_customers(patterns text[], earlier_patterns text[]) returns bigint[]
    language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
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

do $$
declare
    f regprocedure;
begin
    grant create on schema public to storeroom_search;
    for f in select p.oid from pg_proc p
              where p.pronamespace = 'public'::regnamespace and p.proname in ('find_products', 'find_customers')
    loop
        execute format('revoke execute on function %s from public', f);
        execute format('grant execute on function %s to storeroom_runtime', f);
        execute format('alter function %s owner to storeroom_search', f);
    end loop;
    revoke create on schema public from storeroom_search;
end $$;
