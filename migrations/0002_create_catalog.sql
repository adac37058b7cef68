-- The catalog: references, products, stock and its ledger.
--
-- Money is bigint cents and tags have a table of their own, because numeric and
-- array operators are not leakproof: under row-level security no index would
-- serve them. Text that is sorted is collate "C": code point order, the same on
-- every machine, and no index to rebuild when the system's locales change.

create table categories (
    tenant_id  bigint not null references tenants (id) on delete cascade,
    id         bigint generated always as identity,
    name       text collate "C" not null check (length(name) between 1 and 255),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (tenant_id, id),
    unique (tenant_id, name)
);
comment on table categories is 'Product categories.';

create table sellers (like categories including all);
alter table sellers add foreign key (tenant_id) references tenants (id) on delete cascade;
comment on table sellers is 'Who sells or made a product.';

create table warehouses (like categories including all, is_default boolean not null default false);
alter table warehouses add foreign key (tenant_id) references tenants (id) on delete cascade;
create unique index warehouses_default on warehouses (tenant_id) where is_default;
comment on table warehouses is 'Where stock lies. Each tenant has one default, where a product without a warehouse lives.';

create table products (
    tenant_id     bigint not null references tenants (id) on delete cascade,
    id            bigint generated always as identity,
    category_id   bigint,
    seller_id     bigint,
    warehouse_id  bigint not null,
    price         bigint not null check (price between 0 and 999999999999),
    msrp          bigint check (msrp between 0 and 999999999999),
    cost          bigint check (cost between 0 and 999999999999),
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    quantity      integer not null default 0 check (quantity >= 0),
    reorder_point integer check (reorder_point >= 0),
    sku           text collate "C" not null,
    name          text collate "C" not null,
    status        text collate "C" not null check (status in ('active', 'draft')),
    condition     text collate "C" not null check (condition in ('new', 'like_new', 'used', 'refurbished', 'for_parts')),
    description   text,
    bin_location  text,
    upc           text collate "C",
    tags          text[] not null default '{}',
    images        jsonb not null default '[]',
    search        text collate "C" not null,
    primary key (tenant_id, id),
    unique (tenant_id, sku),
    foreign key (tenant_id, category_id) references categories (tenant_id, id),
    foreign key (tenant_id, seller_id) references sellers (tenant_id, id),
    foreign key (tenant_id, warehouse_id) references warehouses (tenant_id, id)
) with (fillfactor = 90);
comment on table products is 'Products. Prices in cents; quantity is the total of stock; search is '' '' and then name, sku and upc in lower case, each run of white space one blank.';
comment on column products.images is 'Array of {id, url, position}; no endpoint writes it.';

-- One index a way to list: (tenant, filter, sort, id). No index holds quantity or
-- updated_at, so that a change of stock stays a heap-only update.
create index products_created on products (tenant_id, created_at, id);
create index products_name on products (tenant_id, name, id);
create index products_price on products (tenant_id, price, id);
create index products_status_created on products (tenant_id, status, created_at, id);
create index products_status_name on products (tenant_id, status, name, id);
create index products_status_price on products (tenant_id, status, price, id);
create index products_status_sku on products (tenant_id, status, sku, id);
create index products_category on products (tenant_id, category_id, created_at, id);
create index products_seller on products (tenant_id, seller_id, created_at, id);
create index products_warehouse on products (tenant_id, warehouse_id, created_at, id);
create index products_search on products using gin (tenant_id, search gin_trgm_ops);

create table product_tags (
    tenant_id  bigint not null,
    tag        text collate "C" not null,
    created_at timestamptz not null,
    product_id bigint not null,
    primary key (tenant_id, tag, product_id),
    foreign key (tenant_id, product_id) references products (tenant_id, id) on delete cascade
);
comment on table product_tags is 'Tags of products for filtering; created_at is the product''s, so that the default order comes from the index.';
create index product_tags_created on product_tags (tenant_id, tag, created_at, product_id);
create index product_tags_product on product_tags (tenant_id, product_id);

create table stock (
    tenant_id    bigint not null,
    product_id   bigint not null,
    warehouse_id bigint not null,
    quantity     integer not null check (quantity >= 0),
    primary key (tenant_id, product_id, warehouse_id),
    foreign key (tenant_id, product_id) references products (tenant_id, id) on delete cascade,
    foreign key (tenant_id, warehouse_id) references warehouses (tenant_id, id)
) with (fillfactor = 80);
comment on table stock is 'Pieces of a product in a warehouse; products.quantity is their sum.';
create index stock_warehouse on stock (tenant_id, warehouse_id);

create table inventory_adjustments (
    tenant_id       bigint not null references tenants (id) on delete cascade,
    id              bigint generated always as identity,
    product_id      bigint not null,
    warehouse_id    bigint not null,
    api_key_id      bigint,
    quantity        integer not null,
    quantity_before integer not null,
    quantity_after  integer not null,
    created_at      timestamptz not null default clock_timestamp(),
    type            text collate "C" not null check (type in ('add', 'remove', 'set')),
    notes           text,
    primary key (tenant_id, id),
    foreign key (tenant_id, api_key_id) references api_keys (tenant_id, id)
);
comment on table inventory_adjustments is 'The ledger: one row a change of stock, never changed; it outlives its product and warehouse, hence no foreign key to them. quantity_before and quantity_after are the product''s totals.';
create index inventory_adjustments_product on inventory_adjustments (tenant_id, product_id, id);

create table product_counts (
    tenant_id bigint not null references tenants (id) on delete cascade,
    slot      smallint not null,
    status    text collate "C" not null,
    count     bigint not null,
    primary key (tenant_id, slot, status)
) with (fillfactor = 50);
comment on table product_counts is 'How many products a tenant has by status: the sum over its slots. A backend writes the slot of its pid, so that writers do not wait for each other; counting a million rows would be the whole price of a list.';

create function count_products() returns trigger
language plpgsql
set search_path = pg_catalog, public, pg_temp
as $$
begin
    if tg_op = 'INSERT' then
        insert into product_counts as c (tenant_id, slot, status, count)
        select n.tenant_id, pg_backend_pid() % 64, n.status, count(*) from new_rows n group by 1, 3 order by 1, 3
        on conflict (tenant_id, slot, status) do update set count = c.count + excluded.count;
    elsif tg_op = 'DELETE' then
        insert into product_counts as c (tenant_id, slot, status, count)
        select o.tenant_id, pg_backend_pid() % 64, o.status, -count(*) from old_rows o group by 1, 3 order by 1, 3
        on conflict (tenant_id, slot, status) do update set count = c.count + excluded.count;
    else
        insert into product_counts as c (tenant_id, slot, status, count)
        select new.tenant_id, pg_backend_pid() % 64, s.status, s.count
          from (values (old.status, -1), (new.status, 1)) s (status, count) order by s.status
        on conflict (tenant_id, slot, status) do update set count = c.count + excluded.count;
    end if;
    return null;
end $$;
revoke execute on function count_products from public;

create trigger count_inserts after insert on products
    referencing new table as new_rows for each statement execute function count_products();
create trigger count_deletes after delete on products
    referencing old table as old_rows for each statement execute function count_products();
-- A column list and transition tables exclude each other; a change of status is
-- rare and a change of stock common, so this one goes by row.
create trigger count_updates after update of status on products
    for each row when (old.status is distinct from new.status) execute function count_products();

do $$
declare t text;
begin
    foreach t in array array['categories', 'sellers', 'warehouses', 'products', 'product_tags', 'stock', 'inventory_adjustments', 'product_counts'] loop
        execute format('alter table %I enable row level security', t);
        execute format('alter table %I force row level security', t);
        execute format($p$create policy tenant on %I
            using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
            with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))$p$, t);
    end loop;
end $$;
grant select, insert, update, delete on categories, sellers, warehouses, products, product_tags, stock, product_counts to storeroom_runtime;
grant select, insert on inventory_adjustments to storeroom_runtime;

-- search_products is a list of the tenant's products whose search text is like
-- every pattern: the ids of one page, and how many there are. It exists because
-- LIKE is not leakproof: under the policy it would never use the trigram index.
-- It is owned by a role that may read these columns and nothing else, names the
-- tenant itself, and hands out ids only; the caller reads the rows under the
-- policy. Hits are read once, for the page and the total: a common term has tens
-- of thousands. EXECUTE plans each call for its own patterns; every value in the
-- text is quoted by %L.
--
-- narrow may hold status, category_id, seller_id, warehouse_id, tag, from, before
-- and since (times); after_key and after_id begin behind that row.
create function search_products(patterns text[], narrow jsonb, sort text, descending boolean, page_limit bigint, page_offset bigint)
returns table (ids bigint[], total bigint)
language plpgsql stable security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    conditions text := 'p.tenant_id = $1';
    beyond     text := 'true';
    direction  text := case when descending then 'desc' else 'asc' end;
    value      text;
begin
    if sort <> all (array['created_at', 'name', 'sku', 'price']) or cardinality(patterns) = 0 then
        raise 'search_products: sort % of % patterns', sort, cardinality(patterns);
    end if;
    foreach value in array patterns loop
        conditions := conditions || format(' and p.search like %L', value);
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
        beyond := format('(h.key, h.id) %s (%L, %L)', case when descending then '<' else '>' end, narrow ->> 'after_key', narrow ->> 'after_id');
    end if;
    return query execute format($q$
        with hits as materialized (select p.id, p.%1$I as key from public.products p where %2$s)
        select array(select h.id from hits h where %3$s order by h.key %4$s, h.id %4$s limit $2 offset $3), (select count(*) from hits)
        $q$, sort, conditions, beyond, direction)
        using nullif(current_setting('app.tenant_id', true), '')::bigint, page_limit, page_offset;
end $$;
revoke execute on function search_products from public;
grant execute on function search_products to storeroom_runtime;

grant usage on schema public to storeroom_search;
grant select (tenant_id, id, search, status, category_id, seller_id, warehouse_id, tags, created_at, updated_at, name, sku, price)
    on products to storeroom_search;
create policy search on products for select to storeroom_search using (true);
grant create on schema public to storeroom_search;
alter function search_products owner to storeroom_search;
revoke create on schema public from storeroom_search;
