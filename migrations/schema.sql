-- The schema after all migrations: tables with their indexes, policies and
-- privileges, then functions. It is written from PostgreSQL's catalog by
-- go test ./migrations -update, and is for reading only.

create extension if not exists pg_trgm;
create extension if not exists btree_gin;

create table tenants (
    id                  bigint not null generated always as identity,
    slug                text collate "C" not null,
    name                text not null,
    plan                text not null,
    rate_limit          integer,
    timezone            text not null default 'UTC'::text,
    currency            text not null default 'USD'::text,
    suspended_at        timestamptz,
    created_at          timestamptz not null default now(),
    updated_at          timestamptz not null default now(),
    due_change_plans    integer not null default 0,
    delete_responses_at timestamptz not null default now() + '24:00:00'::interval,
    delete_usage_at     timestamptz not null default now() + '90 days'::interval,
    delete_plans_at     timestamptz not null default now() + '24:00:00'::interval,
    quota_storage       bigint,
    quota_records       bigint,
    recount_quotas_at   timestamptz not null default now() + '01:00:00'::interval,
    origins             text[] not null default '{}'::text[],
    PRIMARY KEY (id),
    UNIQUE (slug),
    CHECK ((plan = 'enterprise'::text) = (rate_limit IS NOT NULL)),
    CHECK (currency ~ '^[A-Z]{3}$'::text),
    CHECK (due_change_plans >= 0),
    CHECK (length(name) >= 1 AND length(name) <= 255),
    CHECK (cardinality(origins) <= 20),
    CHECK (plan = ANY (ARRAY['standard'::text, 'professional'::text, 'enterprise'::text])),
    CHECK (quota_records > 0),
    CHECK (quota_storage > 0),
    CHECK (rate_limit >= 1 AND rate_limit <= 10000000),
    CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'::text)
);
comment on table tenants is 'Businesses that use the service. The runtime role has no privilege; it reads a tenant with resolve_key.';
comment on column tenants.due_change_plans is 'Number of change plans that are computed, applied or undone. A trigger counts them.';
comment on column tenants.delete_responses_at is 'When delete_expired_responses visits the tenant next: about when its first response expires.';
comment on column tenants.delete_usage_at is 'When delete_expired_usage visits the tenant next: about when its first usage or error expires.';
comment on column tenants.delete_plans_at is 'When delete_expired_change_plans visits the tenant next: about when its first plan expires.';
comment on column tenants.quota_storage is 'Bytes that a tenant of the plan enterprise may store; null is no limit. Other plans have fixed quotas.';
comment on column tenants.quota_records is 'Records that a tenant of the plan enterprise may store; null is no limit.';
comment on column tenants.recount_quotas_at is 'When recount_quotas visits the tenant next. The default leaves an hour to restart the instances of the earlier version, which do not know the error of a quota.';
comment on column tenants.origins is 'Origins of web pages that may read responses of the API, such as https://shop.example.com.';
CREATE INDEX tenants_delete_plans ON tenants USING btree (delete_plans_at);
CREATE INDEX tenants_delete_responses ON tenants USING btree (delete_responses_at);
CREATE INDEX tenants_delete_usage ON tenants USING btree (delete_usage_at);
CREATE INDEX tenants_due_change_plans ON tenants USING btree (id) WHERE due_change_plans > 0;
CREATE INDEX tenants_recount_quotas ON tenants USING btree (recount_quotas_at);
CREATE TRIGGER keep_unused_media AFTER DELETE ON tenants FOR EACH ROW EXECUTE FUNCTION keep_unused_media();
CREATE TRIGGER notify_keys AFTER DELETE OR UPDATE OF name, plan, rate_limit, timezone, currency, suspended_at ON tenants FOR EACH ROW EXECUTE FUNCTION notify_keys();

create table users (
    id                  bigint not null generated always as identity,
    email               text collate "C" not null,
    created_at          timestamptz not null default now(),
    password_parameters text,
    password_verifier   bytea,
    PRIMARY KEY (id),
    UNIQUE (email),
    CHECK (email = lower(email)),
    CHECK (octet_length(password_verifier) = 32)
);
comment on table users is 'People. An e-mail address has one account in the whole service. The runtime role has no privilege.';
comment on column users.password_parameters is 'Parameters and salt of Argon2id, as a PHC string without the hash.';
comment on column users.password_verifier is 'SHA-256 of the Argon2id output. An account without it has no password.';

create table memberships (
    tenant_id  bigint not null,
    user_id    bigint not null,
    role       text not null,
    created_at timestamptz not null default now(),
    PRIMARY KEY (tenant_id, user_id),
    CHECK (role = ANY (ARRAY['owner'::text, 'admin'::text, 'viewer'::text, 'clerk'::text, 'accountant'::text])),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE,
    FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
comment on table memberships is 'The roles of people in tenants. The runtime role has no privilege; it reads them with functions.';
CREATE INDEX memberships_user ON memberships USING btree (user_id);
alter table memberships alter tenant_id set statistics 0;

create table api_keys (
    tenant_id    bigint not null,
    id           bigint not null generated always as identity,
    name         text not null,
    permissions  text[] not null,
    prefix       text not null,
    last4        text not null,
    created_by   bigint,
    created_at   timestamptz not null default now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    replaced_by  bigint,
    last_used_at timestamptz,
    request      text collate "C",
    PRIMARY KEY (tenant_id, id),
    CHECK (length(name) >= 1 AND length(name) <= 100),
    CHECK (cardinality(permissions) > 0),
    CHECK (length(request) >= 1 AND length(request) <= 100),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, replaced_by) REFERENCES api_keys(tenant_id, id)
);
comment on table api_keys is 'API keys as the settings pages show them. No table stores the secret; key_hashes stores its hash.';
comment on column api_keys.request is 'Identifies the form that created the key. If the form is sent again, it creates no second key.';
CREATE UNIQUE INDEX api_keys_request ON api_keys USING btree (tenant_id, request);
CREATE TRIGGER notify_keys AFTER INSERT OR DELETE OR UPDATE OF name, permissions, expires_at, revoked_at ON api_keys FOR EACH ROW EXECUTE FUNCTION notify_keys();
alter table api_keys alter tenant_id set statistics 0;
alter table api_keys enable row level security, force row level security;
create policy tenant on api_keys for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, update (last_used_at) on api_keys to storeroom_runtime;

create table key_hashes (
    hash           bytea not null,
    pepper_version smallint not null,
    tenant_id      bigint not null,
    key_id         bigint not null,
    PRIMARY KEY (hash),
    CHECK (octet_length(hash) = 32),
    FOREIGN KEY (tenant_id, key_id) REFERENCES api_keys(tenant_id, id) ON DELETE CASCADE
);
comment on table key_hashes is 'HMAC-SHA-256 hashes of API keys. The pepper is not in the database. A hash is looked up before the tenant is known, so the table has no policy, and the runtime role has no privilege.';
CREATE INDEX key_hashes_key ON key_hashes USING btree (tenant_id, key_id);
alter table key_hashes alter tenant_id set statistics 0;

create table categories (
    tenant_id  bigint not null,
    id         bigint not null generated always as identity,
    name       text collate "C" not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name),
    CHECK (length(name) >= 1 AND length(name) <= 255),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table categories is 'Product categories.';
CREATE TRIGGER record_changes AFTER INSERT OR DELETE OR UPDATE ON categories FOR EACH ROW EXECUTE FUNCTION record_row('category', 'id');
alter table categories alter tenant_id set statistics 0;
alter table categories enable row level security, force row level security;
create policy tenant on categories for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on categories to storeroom_runtime;

create table sellers (
    tenant_id  bigint not null,
    id         bigint not null generated always as identity,
    name       text collate "C" not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name),
    CHECK (length(name) >= 1 AND length(name) <= 255),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table sellers is 'Sellers or manufacturers of products.';
CREATE TRIGGER record_changes AFTER INSERT OR DELETE OR UPDATE ON sellers FOR EACH ROW EXECUTE FUNCTION record_row('seller', 'id');
alter table sellers alter tenant_id set statistics 0;
alter table sellers enable row level security, force row level security;
create policy tenant on sellers for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on sellers to storeroom_runtime;

create table warehouses (
    tenant_id  bigint not null,
    id         bigint not null generated always as identity,
    name       text collate "C" not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    is_default boolean not null default false,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name),
    CHECK (length(name) >= 1 AND length(name) <= 255),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table warehouses is 'Places that store stock. Each tenant has one default warehouse, for products that are created without one.';
CREATE UNIQUE INDEX warehouses_default ON warehouses USING btree (tenant_id) WHERE is_default;
CREATE TRIGGER record_changes AFTER INSERT OR DELETE OR UPDATE ON warehouses FOR EACH ROW EXECUTE FUNCTION record_row('warehouse', 'id');
alter table warehouses alter tenant_id set statistics 0;
alter table warehouses enable row level security, force row level security;
create policy tenant on warehouses for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on warehouses to storeroom_runtime;

create table products (
    tenant_id     bigint not null,
    id            bigint not null generated always as identity,
    category_id   bigint,
    seller_id     bigint,
    warehouse_id  bigint not null,
    price         bigint not null,
    msrp          bigint,
    cost          bigint,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    quantity      integer not null default 0,
    reorder_point integer,
    sku           text collate "C" not null,
    name          text collate "C" not null,
    status        text collate "C" not null,
    condition     text collate "C" not null,
    description   text,
    bin_location  text,
    upc           text collate "C",
    tags          text[] not null default '{}'::text[],
    images        jsonb not null default '[]'::jsonb,
    search        text collate "C" not null,
    changed_at    timestamptz not null default now(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, sku) INCLUDE (id),
    CHECK (LEAST(price, msrp, cost) >= 0 AND GREATEST(price, msrp, cost) <= '999999999999'::bigint) NOT VALID,
    CHECK ((status = ANY ('{active,draft}'::text[])) AND (condition = ANY ('{new,like_new,used,refurbished,for_parts}'::text[]))) NOT VALID,
    CHECK (LEAST(quantity, reorder_point) >= 0) NOT VALID,
    FOREIGN KEY (tenant_id, category_id) REFERENCES categories(tenant_id, id),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, seller_id) REFERENCES sellers(tenant_id, id),
    FOREIGN KEY (tenant_id, warehouse_id) REFERENCES warehouses(tenant_id, id)
) with (fillfactor=90);
comment on table products is 'Products. Prices are in cents. quantity is the sum of the stock in all warehouses. search is what the earlier release compares: a blank, then name, SKU and UPC in lower case, with single blanks between words.';
comment on column products.images is 'JSON array of {id, position, url} or {id, position, file, width, height, bytes}, in the order of the positions. A file is a name in the media storage.';
comment on column products.changed_at is 'When the product last changed. Changes of stock do not count.';
CREATE INDEX products_category_created ON products USING btree (tenant_id, category_id, status, created_at, id) WHERE category_id IS NOT NULL;
CREATE INDEX products_category_name ON products USING btree (tenant_id, category_id, status, name, id) WHERE category_id IS NOT NULL;
CREATE INDEX products_category_price ON products USING btree (tenant_id, category_id, status, price, id) WHERE category_id IS NOT NULL;
CREATE INDEX products_category_sku ON products USING btree (tenant_id, category_id, status, sku, id) WHERE category_id IS NOT NULL;
CREATE INDEX products_changed ON products USING btree (tenant_id, changed_at, id);
CREATE INDEX products_created ON products USING btree (tenant_id, created_at, id);
CREATE INDEX products_seller ON products USING btree (tenant_id, seller_id, status, created_at, id) INCLUDE (price, name, sku) WHERE seller_id IS NOT NULL;
CREATE INDEX products_status ON products USING btree (tenant_id, status, price, id) INCLUDE (created_at, sku);
CREATE INDEX products_status_name ON products USING btree (tenant_id, status, name, id);
CREATE INDEX products_warehouse ON products USING btree (tenant_id, warehouse_id, status, created_at, id) INCLUDE (price, name, sku);
CREATE TRIGGER deleted AFTER DELETE ON products REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION products_deleted();
CREATE TRIGGER inserted AFTER INSERT ON products REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION products_inserted();
CREATE TRIGGER record_updates AFTER UPDATE ON products REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.recorded'::text, true) IS DISTINCT FROM statement_timestamp()::text) EXECUTE FUNCTION record_products();
CREATE TRIGGER stock_updated AFTER UPDATE OF quantity, reorder_point ON products FOR EACH ROW WHEN (old.quantity <= old.reorder_point OR new.quantity <= new.reorder_point) EXECUTE FUNCTION list_low_products();
CREATE TRIGGER updated AFTER UPDATE OF sku, name, description, price, status, category_id, seller_id, warehouse_id, bin_location, upc, tags, images ON products FOR EACH ROW WHEN (old.status <> new.status OR old.category_id IS DISTINCT FROM new.category_id OR old.seller_id IS DISTINCT FROM new.seller_id OR old.warehouse_id <> new.warehouse_id OR old.tags <> new.tags OR old.sku <> new.sku OR old.name <> new.name OR old.upc IS DISTINCT FROM new.upc OR old.price <> new.price AND new.tags <> '{}'::text[] OR old.images <> new.images OR old.description IS DISTINCT FROM new.description OR old.bin_location IS DISTINCT FROM new.bin_location) EXECUTE FUNCTION products_updated();
alter table products alter tenant_id set statistics 0, alter category_id set statistics 0, alter seller_id set statistics 0, alter warehouse_id set statistics 0, alter created_at set statistics 0, alter changed_at set statistics 0;
alter table products alter status set (n_distinct=2);
alter table products enable row level security, force row level security;
create policy search on products for select to storeroom_search
    using (true);
create policy tenant on products for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on products to storeroom_runtime;
grant select (tenant_id, id, category_id, seller_id, warehouse_id, price, created_at, updated_at, sku, name, status, tags, search) on products to storeroom_search;

create table product_tags (
    tenant_id  bigint not null,
    tag        text collate "C" not null,
    created_at timestamptz not null,
    product_id bigint not null,
    status     text collate "C" not null default ''::text,
    name       text collate "C" not null default ''::text,
    sku        text collate "C" not null default ''::text,
    price      bigint not null default 0,
    PRIMARY KEY (tenant_id, product_id, tag),
    FOREIGN KEY (tenant_id, product_id) REFERENCES products(tenant_id, id) ON DELETE CASCADE
);
comment on table product_tags is 'Tags of products, for filters. Triggers on products write it. The other columns are those of the product, so that an index has a tag''s products with the columns of all orders.';
CREATE INDEX product_tags_tag ON product_tags USING btree (tenant_id, tag, status, created_at, product_id) INCLUDE (price, name, sku);
alter table product_tags alter tenant_id set statistics 0, alter tag set statistics 0, alter created_at set statistics 0;
alter table product_tags enable row level security, force row level security;
create policy tenant on product_tags for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on product_tags to storeroom_runtime;

create table stock (
    tenant_id    bigint not null,
    product_id   bigint not null,
    warehouse_id bigint not null,
    quantity     integer not null,
    PRIMARY KEY (tenant_id, product_id, warehouse_id),
    CHECK (quantity >= 0),
    FOREIGN KEY (tenant_id, product_id) REFERENCES products(tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, warehouse_id) REFERENCES warehouses(tenant_id, id)
) with (fillfactor=80);
comment on table stock is 'Quantity of a product in a warehouse. products.quantity is the sum.';
CREATE INDEX stock_warehouse ON stock USING btree (tenant_id, warehouse_id);
alter table stock alter tenant_id set statistics 0;
alter table stock enable row level security, force row level security;
create policy tenant on stock for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on stock to storeroom_runtime;

create table inventory_adjustments (
    tenant_id       bigint not null,
    id              bigint not null generated always as identity,
    product_id      bigint not null,
    warehouse_id    bigint not null,
    api_key_id      bigint,
    quantity        integer not null,
    quantity_before integer not null,
    quantity_after  integer not null,
    created_at      timestamptz not null default clock_timestamp(),
    type            text collate "C" not null,
    notes           text,
    order_number    text collate "C",
    reason          text collate "C",
    PRIMARY KEY (tenant_id, id),
    CHECK ((type = ANY ('{add,remove,set}'::text[])) AND (reason = ANY ('{sale,cancellation,refund}'::text[])) AND (reason IS NULL) = (order_number IS NULL)) NOT VALID
);
comment on table inventory_adjustments is 'The ledger: one row for each change of stock, which never changes. Rows outlive the product and the warehouse, so they have no foreign key to them. quantity_before and quantity_after are totals of the product.';
comment on column inventory_adjustments.order_number is 'The order that changed the stock.';
comment on column inventory_adjustments.reason is 'Why an order changed the stock.';
CREATE INDEX inventory_adjustments_created ON inventory_adjustments USING btree (tenant_id, created_at, product_id);
CREATE INDEX inventory_adjustments_product ON inventory_adjustments USING btree (tenant_id, product_id, id);
CREATE TRIGGER count_quota AFTER INSERT ON inventory_adjustments REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT WHEN (current_setting('app.counted'::text, true) IS DISTINCT FROM statement_timestamp()::text) EXECUTE FUNCTION count_quota('inventory_adjustments');
alter table inventory_adjustments alter tenant_id set statistics 0, alter created_at set statistics 0;
alter table inventory_adjustments enable row level security, force row level security;
create policy tenant on inventory_adjustments for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select on inventory_adjustments to storeroom_runtime;

create table product_counts (
    tenant_id bigint not null,
    slot      smallint not null,
    status    text collate "C" not null,
    count     bigint not null,
    storage   bigint not null default 0,
    records   bigint not null default 0,
    PRIMARY KEY (tenant_id, slot, status),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
) with (fillfactor=50);
comment on table product_counts is 'Number of products of a tenant by status: the sum of all slots. A backend writes the slot of its pid, so that concurrent writers do not wait for each other. Lists read it instead of counting products.';
comment on column product_counts.storage is 'Bytes of inserted products less those of deleted ones. With quota_counts it is what the tenant stores.';
comment on column product_counts.records is 'Products, and rows of the ledger that a statement wrote with its product. With quota_counts they are the records.';
alter table product_counts alter tenant_id set statistics 0;
alter table product_counts enable row level security, force row level security;
create policy tenant on product_counts for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on product_counts to storeroom_runtime;

create table idempotency_keys (
    tenant_id   bigint not null,
    key         text collate "C" not null,
    fingerprint bytea not null,
    created_at  timestamptz not null default now(),
    status      smallint,
    header      jsonb,
    body        bytea,
    PRIMARY KEY (tenant_id, key),
    CHECK (octet_length(fingerprint) = 32),
    CHECK (length(key) >= 1 AND length(key) <= 255),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table idempotency_keys is 'Responses to requests with an Idempotency-Key, written in the transaction of the request. They expire after 24 hours. A row without a status belongs to a request that is still running; other transactions do not see it.';
CREATE INDEX idempotency_keys_created ON idempotency_keys USING btree (tenant_id, created_at);
CREATE TRIGGER count_quota AFTER DELETE OR UPDATE OF body ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION count_quota('idempotency_keys');
alter table idempotency_keys alter tenant_id set statistics 0, alter created_at set statistics 0;
alter table idempotency_keys enable row level security, force row level security;
create policy tenant on idempotency_keys for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on idempotency_keys to storeroom_runtime;

create table channels (
    tenant_id    bigint not null,
    identifier   text collate "C" not null,
    label        text not null,
    created_at   timestamptz not null default now(),
    updated_at   timestamptz not null default now(),
    takes_stock  boolean not null default false,
    when_short   text collate "C" not null default 'refuse'::text,
    warehouse_id bigint,
    PRIMARY KEY (tenant_id, identifier),
    CHECK (identifier ~ '^[a-z0-9_-]{1,50}$'::text),
    CHECK (length(label) >= 1 AND length(label) <= 255),
    CHECK (when_short = ANY (ARRAY['refuse'::text, 'accept'::text])),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, warehouse_id) REFERENCES warehouses(tenant_id, id)
);
comment on table channels is 'Sales channels. Every tenant has the channel pos.';
comment on column channels.takes_stock is 'Whether orders take their items from stock.';
comment on column channels.when_short is 'What happens to an order of more than there is in stock: refuse, or accept and mark as short.';
comment on column channels.warehouse_id is 'The warehouse that orders take from; null is that of each product.';
CREATE TRIGGER record_changes AFTER INSERT OR DELETE OR UPDATE ON channels FOR EACH ROW EXECUTE FUNCTION record_row('channel', 'identifier');
alter table channels alter tenant_id set statistics 0;
alter table channels enable row level security, force row level security;
create policy tenant on channels for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on channels to storeroom_runtime;

create table sales_zones (
    tenant_id bigint not null,
    timezone  text not null,
    PRIMARY KEY (tenant_id),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table sales_zones is 'Time zone of the days in the tenant''s rollups. A rebuild of the rollups sets it to tenants.timezone.';
alter table sales_zones alter tenant_id set statistics 0;
alter table sales_zones enable row level security, force row level security;
create policy tenant on sales_zones for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select on sales_zones to storeroom_runtime;

create table customers (
    tenant_id  bigint not null,
    id         bigint not null generated always as identity,
    number     text collate "C" not null,
    name       text,
    email      text,
    erased_at  timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, number),
    CHECK (erased_at IS NULL OR name IS NULL AND email IS NULL),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table customers is 'Customers. number is the id that the sender of the orders uses. An erased customer has no name and no e-mail.';
CREATE INDEX customers_search ON customers USING gin (tenant_id, customer_text(number, name, email) gin_trgm_ops) WITH (gin_pending_list_limit='256');
CREATE TRIGGER record_inserts AFTER INSERT ON customers REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION record_customers();
CREATE TRIGGER record_updates AFTER UPDATE ON customers REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION record_customers();
alter table customers alter tenant_id set statistics 0;
alter table customers enable row level security, force row level security;
create policy search on customers for select to storeroom_search
    using (true);
create policy tenant on customers for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select, update on customers to storeroom_runtime;
grant select (tenant_id, id, number, name, email) on customers to storeroom_search;

create table sold_products (
    tenant_id     bigint not null,
    id            bigint not null generated always as identity,
    product_id    bigint,
    category_id   bigint,
    seller_id     bigint,
    created_at    timestamptz not null default now(),
    sku           text collate "C" not null,
    name          text collate "C" not null,
    category_name text collate "C",
    seller_name   text collate "C",
    first_id      bigint,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table sold_products is 'Products as they were sold. A product that changed since its last sale gets a new row. Rows outlive the product, so they have no foreign key to it. product_id is null if the catalog did not have the SKU. Two transactions may insert the same row; reports group by product, so nothing counts twice.';
comment on column sold_products.first_id is 'The row of the same product that was stored first. It is null in that row. A SKU that the catalog does not have is a product of its own.';
CREATE INDEX sold_products_category ON sold_products USING btree (tenant_id, category_id, id);
CREATE INDEX sold_products_first ON sold_products USING btree (tenant_id, id) INCLUDE (first_id) WHERE first_id IS NOT NULL;
CREATE INDEX sold_products_product ON sold_products USING btree (tenant_id, product_id, id) WHERE product_id IS NOT NULL;
CREATE INDEX sold_products_seller ON sold_products USING btree (tenant_id, seller_id, id);
CREATE INDEX sold_products_sku ON sold_products USING btree (tenant_id, sku, id);
CREATE TRIGGER set_first_id BEFORE INSERT ON sold_products FOR EACH ROW EXECUTE FUNCTION set_first_id();
alter table sold_products alter tenant_id set statistics 0, alter category_id set statistics 0, alter seller_id set statistics 0;
alter table sold_products enable row level security, force row level security;
create policy tenant on sold_products for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select on sold_products to storeroom_runtime;

create table orders (
    tenant_id            bigint not null,
    id                   bigint not null,
    customer_id          bigint,
    placed_at            timestamptz not null,
    created_at           timestamptz not null default now(),
    units                bigint not null,
    units_without_cost   bigint not null,
    revenue              bigint not null,
    discounts            bigint not null,
    tax                  bigint not null,
    cost                 bigint not null,
    items                integer not null,
    channel              text collate "C" not null,
    number               text collate "C" not null,
    content              bytea not null,
    shipping             bigint not null default 0,
    revenue_without_cost bigint not null default 0,
    short                boolean not null default false,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, number),
    CHECK (units_without_cost >= 0 AND units_without_cost <= units),
    CHECK (revenue_without_cost >= 0 AND revenue_without_cost <= revenue),
    CHECK (octet_length(content) = 32),
    CHECK (cost >= 0),
    CHECK (discounts >= 0),
    CHECK (items > 0),
    CHECK (revenue >= 0),
    CHECK (shipping >= 0),
    CHECK (tax >= 0),
    CHECK (units > 0),
    FOREIGN KEY (tenant_id, channel) REFERENCES channels(tenant_id, identifier),
    FOREIGN KEY (tenant_id, customer_id) REFERENCES customers(tenant_id, id),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table orders is 'Orders with the sums of their items. revenue is after discounts and without tax and shipping; revenue_without_cost is the part of items without unit_cost. content is the SHA-256 of what was sent.';
comment on column orders.short is 'Whether the order took less from stock than it has items.';
CREATE INDEX orders_created ON orders USING btree (tenant_id, created_at, id);
CREATE INDEX orders_customer ON orders USING btree (tenant_id, customer_id, placed_at) WHERE customer_id IS NOT NULL;
CREATE INDEX orders_placed ON orders USING btree (tenant_id, placed_at, id);
CREATE INDEX orders_search ON orders USING gin (tenant_id, number gin_trgm_ops) WITH (gin_pending_list_limit='256');
CREATE TRIGGER record_inserts AFTER INSERT ON orders REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION record_sales();
alter table orders alter tenant_id set statistics 0, alter customer_id set statistics 0, alter placed_at set statistics 0, alter created_at set statistics 0;
alter table orders enable row level security, force row level security;
create policy search on orders for select to storeroom_search
    using (true);
create policy tenant on orders for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select on orders to storeroom_runtime;
grant select (tenant_id, id, number) on orders to storeroom_search;

create table order_items (
    tenant_id  bigint not null,
    order_id   bigint not null,
    sold_id    bigint not null,
    placed_at  timestamptz not null,
    unit_price bigint not null,
    unit_cost  bigint,
    discount   bigint not null,
    tax        bigint not null,
    line       integer not null,
    quantity   integer not null,
    shipping   bigint not null default 0,
    PRIMARY KEY (tenant_id, order_id, line),
    CHECK (discount <= (quantity * unit_price)),
    CHECK (discount >= 0),
    CHECK (line > 0),
    CHECK (quantity > 0),
    CHECK (shipping >= 0),
    CHECK (tax >= 0),
    CHECK (unit_cost >= 0),
    CHECK (unit_price >= 0),
    FOREIGN KEY (tenant_id, order_id) REFERENCES orders(tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, sold_id) REFERENCES sold_products(tenant_id, id)
);
comment on table order_items is 'Lines of orders. discount, tax and shipping are the line''s shares of the order''s; placed_at is the order''s. Revenue is quantity * unit_price - discount.';
CREATE INDEX order_items_placed ON order_items USING btree (tenant_id, placed_at);
CREATE INDEX order_items_sold ON order_items USING btree (tenant_id, sold_id, placed_at);
alter table order_items alter tenant_id set statistics 0, alter placed_at set statistics 0;
alter table order_items enable row level security, force row level security;
create policy tenant on order_items for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select on order_items to storeroom_runtime;

create table cancellations (
    tenant_id    bigint not null,
    order_id     bigint not null,
    placed_at    timestamptz not null,
    cancelled_at timestamptz not null,
    created_at   timestamptz not null default now(),
    net          boolean not null default false,
    PRIMARY KEY (tenant_id, order_id),
    FOREIGN KEY (tenant_id, order_id) REFERENCES orders(tenant_id, id) ON DELETE CASCADE
);
comment on table cancellations is 'Cancelled orders. Reports count neither them nor their refunds. placed_at is that of the order.';
comment on column cancellations.net is 'Whether the transaction subtracted all sums of the refunds of the order. Instances of earlier versions do not know those of returns; a trigger subtracts them.';
CREATE INDEX cancellations_created ON cancellations USING btree (tenant_id, created_at, order_id);
CREATE INDEX cancellations_placed ON cancellations USING btree (tenant_id, placed_at);
CREATE TRIGGER record_inserts AFTER INSERT ON cancellations REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION record_sales();
alter table cancellations alter tenant_id set statistics 0, alter placed_at set statistics 0, alter created_at set statistics 0;
alter table cancellations enable row level security, force row level security;
create policy tenant on cancellations for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select on cancellations to storeroom_runtime;

create table refunds (
    tenant_id   bigint not null,
    id          bigint not null,
    order_id    bigint not null,
    refunded_at timestamptz not null,
    created_at  timestamptz not null default now(),
    amount      bigint not null,
    reference   text collate "C",
    content     bytea not null,
    tax         bigint,
    shipping    bigint,
    restock     boolean not null default false,
    named       boolean not null default false,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, order_id, reference),
    CHECK (amount > 0),
    CHECK (octet_length(content) = 32),
    CHECK (LEAST(tax, shipping) >= 0 AND (tax + shipping) <= amount) NOT VALID,
    FOREIGN KEY (tenant_id, order_id) REFERENCES orders(tenant_id, id) ON DELETE CASCADE
);
comment on table refunds is 'Refunds of orders. A refund counts on the day of refunded_at. It may be more than the customer paid.';
comment on column refunds.tax is 'The part of the amount that is tax. shipping is that of shipping, and the rest is revenue.';
comment on column refunds.restock is 'Whether the returned units were for sale again, so that their cost was returned too.';
comment on column refunds.named is 'Whether the refund names the items that the amount is for.';
CREATE INDEX refunds_created ON refunds USING btree (tenant_id, created_at, order_id);
CREATE INDEX refunds_refunded ON refunds USING btree (tenant_id, refunded_at, id);
CREATE TRIGGER record_inserts AFTER INSERT ON refunds REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION record_sales();
alter table refunds alter tenant_id set statistics 0, alter refunded_at set statistics 0, alter created_at set statistics 0;
alter table refunds enable row level security, force row level security;
create policy tenant on refunds for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select on refunds to storeroom_runtime;

create table refund_items (
    tenant_id bigint not null,
    refund_id bigint not null,
    order_id  bigint not null,
    amount    bigint not null,
    line      integer not null,
    revenue   bigint not null default 0,
    units     integer not null default 0,
    PRIMARY KEY (tenant_id, refund_id, line),
    CHECK (LEAST(amount, revenue, units::bigint) >= 0) NOT VALID,
    FOREIGN KEY (tenant_id, order_id, line) REFERENCES order_items(tenant_id, order_id, line),
    FOREIGN KEY (tenant_id, refund_id) REFERENCES refunds(tenant_id, id) ON DELETE CASCADE
);
comment on table refund_items is 'Shares of a refund by item of the order: of the amount and of its revenue, and the units that were returned.';
CREATE INDEX refund_items_order ON refund_items USING btree (tenant_id, order_id, line);
alter table refund_items alter tenant_id set statistics 0;
alter table refund_items enable row level security, force row level security;
create policy tenant on refund_items for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select on refund_items to storeroom_runtime;

create table sales_rollups (
    tenant_id                     bigint not null,
    kind                          smallint not null,
    day                           date not null,
    key                           bigint not null,
    orders                        bigint not null,
    items                         bigint not null,
    units                         bigint not null,
    units_without_cost            bigint not null,
    revenue                       bigint not null,
    discounts                     bigint not null,
    tax                           bigint not null,
    cost                          bigint not null,
    refund_count                  bigint not null,
    refunds                       bigint not null,
    channel                       text collate "C" not null,
    shipping                      bigint not null default 0,
    revenue_without_cost          bigint not null default 0,
    refunded_revenue              bigint not null default 0,
    refunded_revenue_without_cost bigint not null default 0,
    units_returned                bigint not null default 0,
    returned_cost                 bigint not null default 0,
    changed_at                    timestamptz not null default clock_timestamp(),
    PRIMARY KEY (tenant_id, kind, day, channel, key),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
) with (fillfactor=80);
comment on table sales_rollups is 'Sums of orders and refunds by day in the tenant''s time zone. kind: 1 by day and channel; 2 by day, channel and category; 3 by day, channel and seller; 4 by month and product as sold, where day is the first of the month. key: 0 for kind 1; the category or seller, or 0 for none; sold_products.id for kind 4.';
comment on column sales_rollups.changed_at is 'When a row of kind 1 was written last. Each change of a day writes one of its rows. A row whose sums are all zero again stays, so that the removal counts as a change.';
CREATE TRIGGER set_changed_at BEFORE UPDATE ON sales_rollups FOR EACH ROW WHEN (new.kind = 1) EXECUTE FUNCTION set_changed_at();
CREATE TRIGGER unpack_inserted AFTER INSERT ON sales_rollups REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION unpack_product_sums();
CREATE TRIGGER unpack_updated AFTER UPDATE ON sales_rollups REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION unpack_product_sums();
alter table sales_rollups alter tenant_id set statistics 0, alter day set statistics 0;
alter table sales_rollups enable row level security, force row level security;
create policy tenant on sales_rollups for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select, update on sales_rollups to storeroom_runtime;

create table sessions (
    token_hash   bytea not null,
    user_id      bigint not null,
    created_at   timestamptz not null default now(),
    seen_at      timestamptz not null default now(),
    confirmed_at timestamptz not null default now(),
    PRIMARY KEY (token_hash),
    CHECK (octet_length(token_hash) = 32),
    FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
comment on table sessions is 'Sessions of people, by the SHA-256 of the cookie. A session ends 30 minutes after seen_at and 12 hours after created_at. confirmed_at is when the person last entered the password. The runtime role has no privilege.';
CREATE INDEX sessions_created ON sessions USING btree (created_at);
CREATE INDEX sessions_user ON sessions USING btree (user_id);

create table one_time_links (
    token_hash bytea not null,
    id         bigint not null generated always as identity,
    tenant_id  bigint,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null default now() + '24:00:00'::interval,
    purpose    text not null,
    email      text collate "C" not null,
    role       text,
    made_by    bigint,
    request    text collate "C",
    PRIMARY KEY (token_hash),
    UNIQUE (id),
    CHECK ((purpose = 'invitation'::text) = (role IS NOT NULL)),
    CHECK (purpose = 'reset'::text OR tenant_id IS NOT NULL),
    CHECK (email = lower(email)),
    CHECK (purpose = ANY (ARRAY['invitation'::text, 'reset'::text])),
    CHECK (length(request) >= 1 AND length(request) <= 100),
    CHECK (role = ANY (ARRAY['owner'::text, 'admin'::text, 'viewer'::text, 'clerk'::text, 'accountant'::text])),
    CHECK (octet_length(token_hash) = 32),
    FOREIGN KEY (made_by) REFERENCES users(id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table one_time_links is 'Invitations and password resets, by the SHA-256 of the token in the link. A link without a tenant is a reset by the operator. made_by is null for the operator. A link that was used, replaced or revoked has expires_at 1970-01-01 and stays for a day, so that its form, sent again, creates no second link. The runtime role has no privilege.';
CREATE INDEX one_time_links_email ON one_time_links USING btree (email);
CREATE UNIQUE INDEX one_time_links_request ON one_time_links USING btree (tenant_id, request);
alter table one_time_links alter tenant_id set statistics 0;

create table audit_log (
    tenant_id bigint not null,
    id        bigint not null generated always as identity,
    user_id   bigint,
    at        timestamptz not null default clock_timestamp(),
    actor     text not null,
    address   text,
    action    text collate "C" not null,
    target    text not null,
    details   jsonb not null default '{}'::jsonb,
    PRIMARY KEY (tenant_id, id),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table audit_log is 'Sign-ins, exports of personal data, and changes of keys, members, plan and settings: actor, action, target and address. A row is written in the transaction of the change and never changes, but failed sign-ins of an hour are counted in one row. actor is an e-mail address, or operator for a command.';
CREATE UNIQUE INDEX audit_log_failed_sign_ins ON audit_log USING btree (tenant_id, target, date_trunc('hour'::text, (at AT TIME ZONE 'UTC'::text)), address) NULLS NOT DISTINCT WHERE action = 'sign_in.failed'::text;
alter table audit_log alter tenant_id set statistics 0;
alter table audit_log enable row level security, force row level security;
create policy tenant on audit_log for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert (tenant_id, user_id, actor, address, action, target, details), select on audit_log to storeroom_runtime;

create table key_usage (
    tenant_id  bigint not null,
    hour       timestamptz not null,
    key_id     bigint not null,
    status_2xx integer not null,
    status_3xx integer not null,
    status_4xx integer not null,
    status_5xx integer not null,
    refused    integer not null,
    route      text collate "C" not null,
    minutes    integer[] not null,
    latency    integer[] not null,
    PRIMARY KEY (tenant_id, hour, key_id, route),
    FOREIGN KEY (tenant_id, key_id) REFERENCES api_keys(tenant_id, id) ON DELETE CASCADE
) with (fillfactor=50);
comment on table key_usage is 'Requests of an API key by hour of the tenant''s time zone and group of routes. They are deleted after 90 days.';
comment on column key_usage.refused is 'Requests above the rate limit, which are also part of status_4xx.';
comment on column key_usage.route is 'The first part of the path after /api, or an empty text for requests that reached no route.';
comment on column key_usage.minutes is 'Requests that were not refused, by minute of the hour: 60 counts.';
comment on column key_usage.latency is 'Requests that were not refused, by duration. Package usage defines the bounds of the buckets.';
alter table key_usage alter tenant_id set statistics 0, alter hour set statistics 0;
alter table key_usage enable row level security, force row level security;
create policy tenant on key_usage for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select, update on key_usage to storeroom_runtime;

create table key_errors (
    tenant_id  bigint not null,
    key_id     bigint not null,
    at         timestamptz not null,
    id         bigint not null generated always as identity,
    status     smallint not null,
    method     text not null,
    route      text not null,
    code       text not null,
    request_id text not null,
    PRIMARY KEY (tenant_id, key_id, at, id),
    FOREIGN KEY (tenant_id, key_id) REFERENCES api_keys(tenant_id, id) ON DELETE CASCADE
);
comment on table key_errors is 'The last 20 errors of each API key. They are deleted after 90 days.';
comment on column key_errors.route is 'The pattern of the route, or an empty text. No column contains a path, a query or a body.';
alter table key_errors alter tenant_id set statistics 0, alter at set statistics 0;
alter table key_errors enable row level security, force row level security;
create policy tenant on key_errors for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select on key_errors to storeroom_runtime;

create table facet_counts (
    tenant_id bigint not null,
    facet     text collate "C" not null,
    value     text collate "C" not null,
    status    text collate "C" not null,
    slot      smallint not null,
    count     bigint not null,
    is_stored boolean not null default false,
    PRIMARY KEY (tenant_id, facet, value, status, slot),
    CHECK (facet = ANY (ARRAY['category'::text, 'seller'::text, 'warehouse'::text, 'tag'::text])),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
) with (fillfactor=50);
comment on table facet_counts is 'Number of products of a tenant by status and one more column: value is the id of the category, seller or warehouse, or the tag. Slots are those of product_counts.';
comment on column facet_counts.is_stored is 'False until the row is written again: a statement sees which rows it has added. Views of shards have no system columns.';
alter table facet_counts alter tenant_id set statistics 0;
alter table facet_counts enable row level security, force row level security;
create policy tenant on facet_counts for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on facet_counts to storeroom_runtime;

create table packed_sums (
    tenant_id                     bigint not null,
    month                         date not null,
    block                         integer not null,
    sold_ids                      bytea not null,
    items                         bytea not null,
    units                         bytea not null,
    revenue                       bytea not null,
    cost                          bytea not null,
    revenue_without_cost          bytea not null,
    refunds                       bytea not null,
    refunded_revenue              bytea not null default '\x'::bytea,
    refunded_revenue_without_cost bytea not null default '\x'::bytea,
    units_returned                bytea not null default '\x'::bytea,
    returned_cost                 bytea not null default '\x'::bytea,
    PRIMARY KEY (tenant_id, month, block),
    CHECK (block >= 0),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table packed_sums is 'Copies of the sums by product of sales_rollups. Each column has the values of up to 16,384 sold products as 8 bytes each, in the order of sold_ids, which are block * 16384 and above. A column of returns is empty if all of its values are zero. A row that unpacked_sums has too is out of date.';
alter table packed_sums alter tenant_id set statistics 0, alter month set statistics 0;
alter table packed_sums enable row level security, force row level security;
create policy tenant on packed_sums for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select on packed_sums to storeroom_runtime;

create table unpacked_sums (
    tenant_id bigint not null,
    month     date not null,
    block     integer not null,
    is_kept   boolean not null default false,
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table unpacked_sums is 'Marks of derived rows that are out of date: blocks of packed_sums, with block -1 months of monthly_sums, and with block -2 days of packed_customers, which month has. Each transaction that changes sales inserts its own marks, so that none waits for another; pack_sums deletes those that it sees.';
comment on column unpacked_sums.is_kept is 'The month has so few sums that reports always compute them.';
CREATE INDEX unpacked_sums_month ON unpacked_sums USING btree (tenant_id, month, block);
CREATE TRIGGER queue_task AFTER INSERT ON unpacked_sums REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION queue_task('pack_sums');
alter table unpacked_sums alter tenant_id set statistics 0, alter month set statistics 0;
alter table unpacked_sums enable row level security, force row level security;
create policy tenant on unpacked_sums for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select on unpacked_sums to storeroom_runtime;

create table low_products (
    tenant_id  bigint not null,
    product_id bigint not null,
    quantity   integer not null,
    PRIMARY KEY (tenant_id, product_id),
    FOREIGN KEY (tenant_id, product_id) REFERENCES products(tenant_id, id) ON DELETE CASCADE
) with (fillfactor=80);
comment on table low_products is 'Products with quantity <= reorder_point, and their quantity. Triggers on products write it.';
alter table low_products alter tenant_id set statistics 0;
alter table low_products enable row level security, force row level security;
create policy tenant on low_products for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on low_products to storeroom_runtime;

create table monthly_sums (
    tenant_id                     bigint not null,
    kind                          smallint not null,
    month                         date not null,
    key                           bigint not null,
    orders                        bigint not null,
    items                         bigint not null,
    units                         bigint not null,
    units_without_cost            bigint not null,
    revenue                       bigint not null,
    discounts                     bigint not null,
    tax                           bigint not null,
    cost                          bigint not null,
    refund_count                  bigint not null,
    refunds                       bigint not null,
    shipping                      bigint not null,
    revenue_without_cost          bigint not null,
    refunded_revenue              bigint not null default 0,
    refunded_revenue_without_cost bigint not null default 0,
    units_returned                bigint not null default 0,
    returned_cost                 bigint not null default 0,
    PRIMARY KEY (tenant_id, kind, month, key),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table monthly_sums is 'Sums of sales_rollups of kind 2 and 3 over the days of a month and all channels. A month that unpacked_sums has with block -1 is out of date.';
alter table monthly_sums alter tenant_id set statistics 0, alter month set statistics 0;
alter table monthly_sums enable row level security, force row level security;
create policy tenant on monthly_sums for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select on monthly_sums to storeroom_runtime;

create table packed_customers (
    tenant_id    bigint not null,
    day          date not null,
    customer_ids bytea not null,
    revenue      bytea not null,
    placed_at    bytea not null,
    refunded_ids bytea not null,
    refunds      bytea not null,
    guests       bytea not null,
    PRIMARY KEY (tenant_id, day),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table packed_customers is 'Copies of the orders and refunds of a day in UTC that are not cancelled. Columns have 8 bytes for each value: customer, revenue and placed_at of each order with a customer; customer and amount of each refund of such an order; the sums of guests in the order of sales_rollups. A row that unpacked_customers has too is out of date.';
alter table packed_customers alter tenant_id set statistics 0, alter day set statistics 0;
alter table packed_customers enable row level security, force row level security;
create policy tenant on packed_customers for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select on packed_customers to storeroom_runtime;

create table unpacked_customers (
    tenant_id bigint not null,
    day       date not null,
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table unpacked_customers is 'Days of packed_customers that are out of date, for instances of the previous release. A trigger copies each to unpacked_sums.';
CREATE INDEX unpacked_customers_day ON unpacked_customers USING btree (tenant_id, day);
CREATE TRIGGER mark_days AFTER INSERT ON unpacked_customers REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION mark_days();
alter table unpacked_customers alter tenant_id set statistics 0, alter day set statistics 0;
alter table unpacked_customers enable row level security, force row level security;
create policy tenant on unpacked_customers for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select on unpacked_customers to storeroom_runtime;

create table unused_media (
    tenant_id bigint not null,
    due       timestamptz not null,
    file      text collate "C" not null,
    bytes     bigint not null default 1048576,
    PRIMARY KEY (tenant_id, file)
);
comment on table unused_media is 'Files in the media storage that no product uses: uploads in progress, and files of deleted images. Instances delete them when they are due. Files of deleted tenants have the tenant 0.';
CREATE INDEX unused_media_due ON unused_media USING btree (tenant_id, due);
CREATE TRIGGER check_file_owner BEFORE INSERT ON unused_media FOR EACH ROW EXECUTE FUNCTION check_file_owner();
alter table unused_media alter tenant_id set statistics 0, alter due set statistics 0;
alter table unused_media enable row level security, force row level security;
create policy tenant on unused_media for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select on unused_media to storeroom_runtime;

create table media_totals (
    tenant_id bigint not null,
    bytes     bigint not null,
    PRIMARY KEY (tenant_id),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table media_totals is 'Size of the files of all images of a tenant. A trigger on products writes it.';
alter table media_totals alter tenant_id set statistics 0;
alter table media_totals enable row level security, force row level security;
create policy tenant on media_totals for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select, update on media_totals to storeroom_runtime;

create table change_plans (
    tenant_id    bigint not null,
    id           bigint not null generated always as identity,
    parts        integer not null default 0,
    next_part    integer not null default 0,
    kind         text not null,
    state        text not null,
    skip_changed boolean not null default false,
    title        text not null,
    failure      text,
    actor        text not null,
    details      jsonb not null default '{}'::jsonb,
    created_at   timestamptz not null default now(),
    planned_at   timestamptz,
    applied_at   timestamptz,
    expires_at   timestamptz not null,
    worker       uuid,
    lease_until  timestamptz,
    attempts     integer not null default 0,
    is_long      boolean not null default false,
    traceparent  text,
    PRIMARY KEY (tenant_id, id),
    CHECK (next_part >= 0 AND next_part <= parts),
    CHECK (parts >= 0),
    CHECK (state = ANY (ARRAY['planning'::text, 'needs_mapping'::text, 'planned'::text, 'applying'::text, 'applied'::text, 'undoing'::text, 'undone'::text, 'cancelled'::text, 'failed'::text])),
    CHECK (length(traceparent) <= 55),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table change_plans is 'Plans of changes, until expires_at: 24 hours after they were created. A plan that is applied can be undone until then: 7 days if it is an import, 30 days otherwise.';
comment on column change_plans.next_part is 'The part to apply next. The parts before it are applied; undoing counts down.';
comment on column change_plans.skip_changed is 'Whether to apply the plan although rows have changed since, without these rows.';
comment on column change_plans.title is 'The names of the files, or of what else the changes come from.';
comment on column change_plans.failure is 'Why a plan failed, or could not be applied, for its user.';
comment on column change_plans.details is 'What the code of the kind stores: settings, and descriptions of files.';
comment on column change_plans.worker is 'The process that works on the plan, until lease_until.';
comment on column change_plans.attempts is 'How often a worker has claimed the plan since a part of it was completed or a worker released it.';
comment on column change_plans.is_long is 'Whether the plan is computed or compared longer than other tenants may wait.';
comment on column change_plans.traceparent is 'The span of the request that created the plan, or last applied or undid it, in the format of W3C Trace Context. The span of its worker has a link to it.';
CREATE INDEX change_plans_due ON change_plans USING btree (tenant_id, id) WHERE state = ANY (ARRAY['planning'::text, 'applying'::text, 'undoing'::text]);
CREATE INDEX change_plans_leased ON change_plans USING btree (tenant_id) WHERE lease_until IS NOT NULL;
CREATE CONSTRAINT TRIGGER count_due_change_plans AFTER INSERT OR DELETE OR UPDATE OF state ON change_plans DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION count_due_change_plans();
alter table change_plans alter tenant_id set statistics 0;
alter table change_plans enable row level security, force row level security;
create policy tenant on change_plans for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select, update on change_plans to storeroom_runtime;

create table change_plan_parts (
    tenant_id bigint not null,
    plan_id   bigint not null,
    part      integer not null,
    created   integer not null,
    updated   integer not null,
    unchanged integer not null,
    refused   integer not null,
    ignored   integer not null,
    skipped   integer not null default 0,
    kind      text not null,
    rows      bytea not null,
    result    bytea,
    PRIMARY KEY (tenant_id, plan_id, part),
    CHECK (part >= 0),
    FOREIGN KEY (tenant_id, plan_id) REFERENCES change_plans(tenant_id, id) ON DELETE CASCADE
);
comment on table change_plan_parts is 'Parts of plans. A part is applied, and undone, in one transaction.';
comment on column change_plan_parts.skipped is 'Rows that were not applied, or not undone, because something else has changed them.';
comment on column change_plan_parts.rows is 'What to change: JSON, compressed with Zstandard.';
comment on column change_plan_parts.result is 'What undoing needs, and the rows that were skipped: JSON, compressed with Zstandard.';
CREATE TRIGGER count_quota AFTER INSERT OR DELETE OR UPDATE OF rows, result ON change_plan_parts FOR EACH ROW EXECUTE FUNCTION count_quota('change_plan_parts');
alter table change_plan_parts alter tenant_id set statistics 0;
alter table change_plan_parts enable row level security, force row level security;
create policy tenant on change_plan_parts for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on change_plan_parts to storeroom_runtime;

create table change_plan_files (
    tenant_id bigint not null,
    plan_id   bigint not null,
    file      integer not null,
    chunk     integer not null,
    name      text not null,
    bytes     bytea not null,
    PRIMARY KEY (tenant_id, plan_id, file, chunk),
    CHECK (chunk >= 0),
    CHECK (file >= 0),
    FOREIGN KEY (tenant_id, plan_id) REFERENCES change_plans(tenant_id, id) ON DELETE CASCADE
);
comment on table change_plan_files is 'Files from which an instance computes a plan, until the plan is applied or cancelled.';
comment on column change_plan_files.bytes is 'A part of the file, compressed with Zstandard.';
CREATE TRIGGER count_quota AFTER INSERT OR DELETE ON change_plan_files FOR EACH ROW EXECUTE FUNCTION count_quota('change_plan_files');
alter table change_plan_files alter tenant_id set statistics 0;
alter table change_plan_files enable row level security, force row level security;
create policy tenant on change_plan_files for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select on change_plan_files to storeroom_runtime;

create table imported_facts (
    tenant_id bigint not null,
    plan_id   bigint not null,
    kind      text collate "C" not null,
    id        bigint not null,
    PRIMARY KEY (tenant_id, plan_id, kind, id),
    CHECK (kind = ANY (ARRAY['orders'::text, 'refunds'::text, 'cancellations'::text, 'customers'::text])),
    FOREIGN KEY (tenant_id, plan_id) REFERENCES change_plans(tenant_id, id) ON DELETE CASCADE
);
comment on table imported_facts is 'Facts and customers that a plan created, which undoing it may delete. The runtime role writes it with record_facts only.';
comment on column imported_facts.kind is 'The table of the row. The id of a cancellation is that of its order.';
alter table imported_facts alter tenant_id set statistics 0;
alter table imported_facts enable row level security, force row level security;
create policy tenant on imported_facts for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select on imported_facts to storeroom_runtime;

create table import_settings (
    tenant_id  bigint not null,
    header     bytea not null,
    settings   jsonb not null,
    updated_at timestamptz not null default now(),
    PRIMARY KEY (tenant_id, header),
    CHECK (octet_length(header) = 32),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table import_settings is 'Settings with which files were imported, for other files with the same header. The code keeps those of at most 100 headers.';
comment on column import_settings.header is 'The SHA-256 of the names of the columns.';
comment on column import_settings.settings is 'Answers of a user, and what each column means.';
alter table import_settings alter tenant_id set statistics 0;
alter table import_settings enable row level security, force row level security;
create policy tenant on import_settings for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on import_settings to storeroom_runtime;

create table timelines (
    system   bigint not null,
    database oid not null,
    timeline text not null,
    id       uuid not null default gen_random_uuid(),
    PRIMARY KEY (system, database, timeline)
);
comment on table timelines is 'Timelines of PostgreSQL in which this database was the primary. A promotion begins a new one. A standby that has not replayed the row of a timeline follows another history. The runtime role has no privilege.';
comment on column timelines.system is 'The identifier of the database system. A dump that is restored elsewhere contains rows of another one.';
comment on column timelines.database is 'The oid of the database, which differs for a copy in the same system.';
comment on column timelines.timeline is 'The first 8 digits of the name of a WAL file.';
comment on column timelines.id is 'Differs for two servers that were promoted to the same timeline.';

create table tenants_with_work (
    tenant_id bigint not null,
    task      text collate "C" not null,
    due       timestamptz not null default now(),
    worker    uuid,
    attempts  integer not null default 0
);
comment on table tenants_with_work is 'Queue of the tenants for which a task has work. Each statement that makes work inserts its own row, so that none waits for another; claim_work replaces those of a tenant with one that a worker has until it is due. It deletes only rows that it sees, so it misses no work. The runtime role has no privilege.';
comment on column tenants_with_work.due is 'When a worker may claim the tenant: the end of the lease if the row has a worker.';
comment on column tenants_with_work.attempts is 'How often the task has failed for the tenant since it succeeded.';
CREATE INDEX tenants_with_work_due ON tenants_with_work USING btree (task, due);
CREATE INDEX tenants_with_work_task ON tenants_with_work USING btree (task, tenant_id);
alter table tenants_with_work alter tenant_id set statistics 0, alter due set statistics 0;

create table feed_epochs (
    tenant_id  bigint not null,
    epoch      bigint not null,
    system     bigint not null,
    timeline   text not null,
    relation   bigint not null,
    started_at timestamptz not null,
    PRIMARY KEY (tenant_id, epoch),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table feed_epochs is 'Histories of transaction ids in which a tenant''s changes were recorded, as Unix times. A promotion of a standby, a restored dump and a move to another node begin a new one, because transaction ids may repeat. feed_epoch writes it.';
comment on column feed_epochs.system is 'The identifier of the database system.';
comment on column feed_epochs.timeline is 'The first 8 digits of the name of a WAL file.';
comment on column feed_epochs.relation is 'The oid of the table changes, which a restored dump and a move to another node create again.';
comment on column feed_epochs.started_at is 'When the server was started that used the epoch last. It is compared with each change, because it costs less than the others.';
alter table feed_epochs alter tenant_id set statistics 0;
alter table feed_epochs enable row level security, force row level security;
create policy tenant on feed_epochs for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select, update (started_at) on feed_epochs to storeroom_runtime;

create table changes (
    tenant_id  bigint not null,
    epoch      bigint not null,
    xid        bigint not null default pg_current_xact_id()::text::bigint,
    seq        bigint not null default nextval('change_seqs'::regclass),
    at         timestamptz not null default clock_timestamp(),
    api_key_id bigint default NULLIF(current_setting('app.key_id'::text, true), ''::text)::bigint,
    slot       smallint not null default (((clock_timestamp() AT TIME ZONE 'UTC'::text)::date - '2000-01-01'::date) / 10 % 12),
    action     text collate "C" not null,
    types      text[] collate "C" not null,
    changed    text[] collate "C" not null default '{}'::text[],
    ids        text[] collate "C" not null,
    PRIMARY KEY (tenant_id, epoch, xid, seq, slot),
    CHECK (action = ANY (ARRAY['created'::text, 'updated'::text, 'deleted'::text]))
) partition by LIST (slot);
create table changes_0 partition of changes FOR VALUES IN ('0');
create table changes_1 partition of changes FOR VALUES IN ('1');
create table changes_2 partition of changes FOR VALUES IN ('2');
create table changes_3 partition of changes FOR VALUES IN ('3');
create table changes_4 partition of changes FOR VALUES IN ('4');
create table changes_5 partition of changes FOR VALUES IN ('5');
create table changes_6 partition of changes FOR VALUES IN ('6');
create table changes_7 partition of changes FOR VALUES IN ('7');
create table changes_8 partition of changes FOR VALUES IN ('8');
create table changes_9 partition of changes FOR VALUES IN ('9');
create table changes_10 partition of changes FOR VALUES IN ('10');
create table changes_11 partition of changes FOR VALUES IN ('11');
comment on table changes is 'Changes that the feed shows. A row has the objects that one statement changed in the same way: each of types, for each of ids. The order is epoch, xid, seq. Transactions commit in another order, so a reader reads only rows below the oldest running transaction.';
comment on column changes.xid is 'The transaction id. It is not xid8, whose comparisons are not leakproof.';
comment on column changes.slot is 'The partition: the number of the 10 days since 2000-01-01, modulo 12.';
comment on column changes.ids is 'The ids as in the API: numbers of orders and customers, identifiers of channels.';
CREATE TRIGGER queue_webhooks AFTER INSERT ON changes FOR EACH ROW EXECUTE FUNCTION queue_webhooks();
alter table changes alter tenant_id set statistics 0;
alter table changes enable row level security, force row level security;
create policy tenant on changes for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select on changes to storeroom_runtime;

create table taken_stock (
    tenant_id    bigint not null,
    order_id     bigint not null,
    product_id   bigint not null,
    warehouse_id bigint not null,
    line         integer not null,
    taken        integer not null,
    returned     integer not null default 0,
    archived     boolean not null default false,
    PRIMARY KEY (tenant_id, order_id, line),
    CHECK (returned >= 0 AND returned <= taken),
    CHECK (taken > 0),
    FOREIGN KEY (tenant_id, order_id, line) REFERENCES order_items(tenant_id, order_id, line) ON DELETE CASCADE
) with (fillfactor=90);
comment on table taken_stock is 'What items of orders took from stock, and how much of it cancellations and refunds have returned. Rows outlive the product and the warehouse, so they have no foreign key to them.';
comment on column taken_stock.archived is 'Whether the row is of an archive, so that the ledger of another tenant has the sale.';
alter table taken_stock alter tenant_id set statistics 0, alter warehouse_id set statistics 0;
alter table taken_stock enable row level security, force row level security;
create policy tenant on taken_stock for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select, update (returned) on taken_stock to storeroom_runtime;

create table webhooks (
    tenant_id           bigint not null,
    id                  bigint not null generated always as identity,
    url                 text not null,
    description         text not null,
    types               text[] collate "C" not null,
    batch_size          integer not null,
    state               text collate "C" not null default 'active'::text,
    pause_reason        text collate "C",
    paused_at           timestamptz,
    secret              text not null,
    previous_secret     text,
    previous_expires_at timestamptz,
    delivered_to        text collate "C" not null,
    message_end         text collate "C",
    replays             integer not null default 0,
    attempts            integer not null default 0,
    failing_since       timestamptz,
    last_attempt_at     timestamptz,
    next_attempt_at     timestamptz not null default clock_timestamp(),
    worker              uuid,
    lease_until         timestamptz,
    created_at          timestamptz not null default now(),
    updated_at          timestamptz not null default now(),
    maker_type          text collate "C",
    maker_id            bigint,
    maker_name          text,
    maker_expires_at    timestamptz,
    PRIMARY KEY (tenant_id, id),
    CHECK (batch_size >= 1 AND batch_size <= 100),
    CHECK ((state = 'paused'::text) = (pause_reason IS NOT NULL) AND (state = 'paused'::text) = (paused_at IS NOT NULL)),
    CHECK ((maker_type = ANY (ARRAY['key'::text, 'member'::text])) AND maker_id IS NOT NULL AND maker_name IS NOT NULL OR maker_type IS NULL AND maker_id IS NULL AND maker_name IS NULL AND maker_expires_at IS NULL),
    CHECK (pause_reason = ANY (ARRAY['user'::text, 'failing'::text, 'gone'::text, 'expired'::text, 'maker_gone'::text])),
    CHECK (state = ANY (ARRAY['active'::text, 'paused'::text])),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table webhooks is 'Endpoints to which changes are delivered.';
comment on column webhooks.pause_reason is 'user: a member or a key; failing: no attempt succeeded for three days; gone: the receiver answered 410; expired: changes after delivered_to were deleted; maker_gone: the key was revoked or has expired, or the member was removed.';
comment on column webhooks.previous_secret is 'The secret before the last rotation. Messages are also signed with it until previous_expires_at.';
comment on column webhooks.delivered_to is 'The cursor of the feed after the last message that the receiver accepted.';
comment on column webhooks.message_end is 'The cursor at the end of the message that has failed, so that a retry is the same message.';
comment on column webhooks.replays is 'How often the position was set. It is part of the ids of messages, because receivers may ignore an id that they know.';
comment on column webhooks.attempts is 'Failed attempts since the last success.';
comment on column webhooks.last_attempt_at is 'When the receiver accepted or refused a message last.';
comment on column webhooks.next_attempt_at is 'When a message that failed is sent again, or when the endpoint is visited although nothing has changed.';
comment on column webhooks.worker is 'The process that delivers to the endpoint, until lease_until.';
comment on column webhooks.maker_type is 'key or member: who created the endpoint, or became responsible for it later. Null if an earlier release or an operator did.';
comment on column webhooks.maker_name is 'The name of the key, or the e-mail address of the member.';
comment on column webhooks.maker_expires_at is 'When the key expires. It is a copy, because the keys are on another node of a cluster.';
CREATE TRIGGER queue_task AFTER DELETE ON webhooks REFERENCING OLD TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION queue_task('delete_unused_deliveries');
CREATE TRIGGER queue_webhook AFTER INSERT OR UPDATE OF state, next_attempt_at, lease_until ON webhooks FOR EACH ROW EXECUTE FUNCTION queue_webhook();
alter table webhooks alter tenant_id set statistics 0;
alter table webhooks enable row level security, force row level security;
create policy tenant on webhooks for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on webhooks to storeroom_runtime;

create table webhook_deliveries (
    tenant_id  bigint not null,
    webhook_id bigint not null,
    id         bigint not null default nextval('webhook_delivery_ids'::regclass),
    at         timestamptz not null default clock_timestamp(),
    slot       smallint not null default (((clock_timestamp() AT TIME ZONE 'UTC'::text)::date - '2000-01-01'::date) / 10 % 6),
    message_id text collate "C" not null,
    type       text collate "C" not null,
    entries    integer not null,
    first_seq  text collate "C",
    last_seq   text collate "C",
    attempt    integer not null,
    succeeded  boolean not null,
    status     integer,
    error      text,
    latency_ms integer not null,
    response   text not null,
    PRIMARY KEY (tenant_id, webhook_id, id, slot),
    CHECK (type = ANY (ARRAY['changes'::text, 'test'::text]))
) partition by LIST (slot);
create table webhook_deliveries_0 partition of webhook_deliveries FOR VALUES IN ('0');
create table webhook_deliveries_1 partition of webhook_deliveries FOR VALUES IN ('1');
create table webhook_deliveries_2 partition of webhook_deliveries FOR VALUES IN ('2');
create table webhook_deliveries_3 partition of webhook_deliveries FOR VALUES IN ('3');
create table webhook_deliveries_4 partition of webhook_deliveries FOR VALUES IN ('4');
create table webhook_deliveries_5 partition of webhook_deliveries FOR VALUES IN ('5');
comment on table webhook_deliveries is 'Attempts to deliver a message of the last 30 days.';
comment on column webhook_deliveries.slot is 'The partition: the number of the 10 days since 2000-01-01, modulo 6.';
comment on column webhook_deliveries.status is 'The HTTP status; null if there was no response, then error says why.';
comment on column webhook_deliveries.response is 'The first 1,024 bytes of the body, unless the receiver accepted the message.';
CREATE TRIGGER count_quota AFTER INSERT OR DELETE OR UPDATE OF response, error ON webhook_deliveries FOR EACH ROW EXECUTE FUNCTION count_quota('webhook_deliveries');
alter table webhook_deliveries alter tenant_id set statistics 0;
alter table webhook_deliveries enable row level security, force row level security;
create policy tenant on webhook_deliveries for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select, update (response) on webhook_deliveries to storeroom_runtime;

create table due_webhooks (
    tenant_id  bigint not null,
    webhook_id bigint,
    at         timestamptz not null default clock_timestamp()
);
comment on table due_webhooks is 'Queue of webhooks of the previous release. claim_work moves what is left in it to tenants_with_work. The runtime role has no privilege.';
CREATE INDEX due_webhooks_at ON due_webhooks USING btree (at);
CREATE INDEX due_webhooks_tenant ON due_webhooks USING btree (tenant_id, webhook_id);
alter table due_webhooks alter tenant_id set statistics 0, alter at set statistics 0;

create table old_media (
    tenant_id bigint not null,
    file      text collate "C" not null,
    PRIMARY KEY (tenant_id, file),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table old_media is 'Files in the media storage whose names do not show their tenant, because an instance of an earlier release has stored them. The runtime role has no privilege.';
alter table old_media alter tenant_id set statistics 0;
alter table old_media enable row level security, force row level security;
create policy tenant on old_media for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));

create table quota_counts (
    tenant_id     bigint not null,
    slot          smallint not null,
    storage       bigint not null,
    records       bigint not null,
    storage_limit bigint,
    records_limit bigint,
    PRIMARY KEY (tenant_id, slot)
) with (fillfactor=50);
comment on table quota_counts is 'What a tenant stores, with product_counts: the sum of all slots, which are those of product_counts. The slot -1 has the limits and what recount_quotas corrected; a tenant without it is not counted yet. Triggers write it, also while a tenant is being deleted, so it has no foreign key.';
comment on column quota_counts.storage is 'Bytes of products with their pictures, of rows and files of change plans, of stored responses and of webhook deliveries.';
comment on column quota_counts.records is 'Number of products, orders, items, refunds and rows of the ledger.';
comment on column quota_counts.storage_limit is 'The quota, copied from the tenant so that the check reads no other table. Null is no limit.';
alter table quota_counts alter tenant_id set statistics 0;
alter table quota_counts enable row level security, force row level security;
create policy tenant on quota_counts for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant insert, select, update on quota_counts to storeroom_runtime;

create table product_texts (
    tenant_id  bigint not null,
    product_id bigint not null,
    version    smallint not null,
    text       text collate "C" not null,
    PRIMARY KEY (tenant_id, product_id),
    FOREIGN KEY (tenant_id, product_id) REFERENCES products(tenant_id, id) ON DELETE CASCADE
) with (fillfactor=90);
comment on table product_texts is 'What a search compares of a product: name, SKU and barcode, normalised by the package searchtext.';
comment on column product_texts.version is 'The version of the rule that made the text.';
CREATE INDEX product_texts_search ON product_texts USING gin (tenant_id, text gin_trgm_ops) WITH (gin_pending_list_limit='256');
alter table product_texts alter tenant_id set statistics 0, alter text set statistics 0;
alter table product_texts enable row level security, force row level security;
create policy search on product_texts for select to storeroom_search
    using (true);
create policy tenant on product_texts for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on product_texts to storeroom_runtime;
grant select on product_texts to storeroom_search;

create table customer_texts (
    tenant_id   bigint not null,
    customer_id bigint not null,
    version     smallint not null,
    text        text collate "C" not null,
    PRIMARY KEY (tenant_id, customer_id),
    FOREIGN KEY (tenant_id, customer_id) REFERENCES customers(tenant_id, id) ON DELETE CASCADE
) with (fillfactor=90);
comment on table customer_texts is 'What a search compares of a customer: id, name and e-mail, normalised by the package searchtext. It is personal data.';
comment on column customer_texts.version is 'The version of the rule that made the text.';
CREATE INDEX customer_texts_search ON customer_texts USING gin (tenant_id, text gin_trgm_ops) WITH (gin_pending_list_limit='256');
alter table customer_texts alter tenant_id set statistics 0, alter text set statistics 0;
alter table customer_texts enable row level security, force row level security;
create policy search on customer_texts for select to storeroom_search
    using (true);
create policy tenant on customer_texts for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on customer_texts to storeroom_runtime;
grant select on customer_texts to storeroom_search;

create table unfilled_texts (
    tenant_id bigint not null,
    id        bigint not null generated always as identity,
    kind      text collate "C" not null,
    first_id  bigint not null,
    last_id   bigint not null,
    PRIMARY KEY (tenant_id, kind, id),
    CHECK (kind = ANY (ARRAY['product'::text, 'customer'::text])),
    FOREIGN KEY (tenant_id) REFERENCES tenants(id) ON DELETE CASCADE
);
comment on table unfilled_texts is 'Ranges of ids of products or customers that may lack a current text. Each statement of an instance of another release adds its own row, so that none waits for another. The task that fills the texts deletes them.';
CREATE TRIGGER queue_task AFTER INSERT ON unfilled_texts REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION queue_task('fill_texts');
alter table unfilled_texts alter tenant_id set statistics 0;
alter table unfilled_texts enable row level security, force row level security;
create policy search on unfilled_texts for select to storeroom_search
    using (true);
create policy tenant on unfilled_texts for all to public
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant delete, insert, select, update on unfilled_texts to storeroom_runtime;
grant select on unfilled_texts to storeroom_search;

create table schema_migrations (
    applied_at  timestamptz not null default now(),
    checksum    text not null default 'unknown'::text,
    functions   text,
    name        text not null,
    salt_secret bytea,
    version     integer not null,
    PRIMARY KEY (version),
    CHECK (octet_length(salt_secret) = 32)
);
comment on table schema_migrations is 'Migrations that ran. The runtime role reads the last one with schema_version.';
comment on column schema_migrations.checksum is 'SHA-256 of the file, or "unknown" if a program that stored none applied it.';
comment on column schema_migrations.salt_secret is 'Random, in the first row only. password_parameters derives salts from it.';
comment on column schema_migrations.functions is 'Version and SHA-256 of the functions that were applied after the file and before the next one.';

create sequence image_ids;
comment on sequence image_ids is 'Ids of images.';
grant usage on sequence image_ids to storeroom_runtime;

create sequence change_seqs;
comment on sequence change_seqs is 'The order of changes in a transaction.';
grant usage on sequence change_seqs to storeroom_runtime;

create sequence webhook_delivery_ids;
comment on sequence webhook_delivery_ids is NULL;
grant usage on sequence webhook_delivery_ids to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.schema_version()
 RETURNS integer
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$select coalesce(max(version), 0) from schema_migrations$function$;
revoke execute on function schema_version() from public;
grant execute on function schema_version() to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.resolve_key(hashes bytea[])
 RETURNS TABLE(hash bytea, tenant_id bigint, key_id bigint, key_name text, permissions text[], expires_at timestamptz, slug text, tenant_name text, plan text, rate_limit integer, timezone text, currency text, suspended boolean)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    return query
        select k.hash, k.tenant_id, k.key_id, k.key_name, k.permissions, k.expires_at, k.slug, k.tenant_name, k.plan,
               k.rate_limit, k.timezone, k.currency, k.suspended
          from find_key(hashes) k;
end $function$;
revoke execute on function resolve_key(bytea[]) from public;
grant execute on function resolve_key(bytea[]) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.notify_keys()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    if tg_table_name = 'tenants' then
        perform pg_notify('keys', coalesce(new.id, old.id)::text);
    else
        perform pg_notify('keys', coalesce(new.tenant_id, old.tenant_id)::text);
    end if;
    return null;
end $function$;
revoke execute on function notify_keys() from public;

CREATE OR REPLACE FUNCTION public.live(s sessions)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
    select s.seen_at >= now() - interval '30 minutes' and s.created_at >= now() - interval '12 hours'
$function$;
revoke execute on function live(sessions) from public;

CREATE OR REPLACE FUNCTION public.usable(l one_time_links)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
    select l.expires_at > now()
       and (l.purpose = 'invitation' or l.tenant_id is null or array[l.tenant_id] = array(
               select m.tenant_id from memberships m join users u on u.id = m.user_id where u.email = l.email))
$function$;
revoke execute on function usable(one_time_links) from public;

CREATE OR REPLACE FUNCTION public.acting_member(token bytea, roles text[])
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
    select m.user_id
      from sessions s
      join memberships m on m.user_id = s.user_id
     where s.token_hash = token and live(s) and m.role = any (roles)
       and m.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint
$function$;
revoke execute on function acting_member(bytea,text[]) from public;

CREATE OR REPLACE FUNCTION public.acting_owner(token bytea)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
begin
    perform from tenants t where t.id = nullif(current_setting('app.tenant_id', true), '')::bigint for no key update;
    return acting_member(token, '{owner}');
end $function$;
revoke execute on function acting_owner(bytea) from public;

CREATE OR REPLACE FUNCTION public.log_person(person bigint, action text, address text, by_operator boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    tenant bigint;
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    for tenant in select m.tenant_id from memberships m where m.user_id = person order by m.tenant_id loop
        perform set_config('app.tenant_id', tenant::text, true);
        insert into audit_log (tenant_id, user_id, actor, address, action, target)
        select tenant, case when not by_operator then u.id end, case when by_operator then 'operator' else u.email end,
               nullif(log_person.address, ''), log_person.action, u.email
          from users u where u.id = person;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $function$;
revoke execute on function log_person(bigint,text,text,boolean) from public;

CREATE OR REPLACE FUNCTION public.use_session(token bytea, tenant text)
 RETURNS TABLE(user_id bigint, email text, confirmed_at timestamptz, role text, tenant_id bigint, slug text, tenant_name text, plan text, rate_limit integer, timezone text, currency text, suspended boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    update sessions s set seen_at = now()
     where s.token_hash = token and live(s) and s.seen_at < now() - interval '1 minute';
    return query
        select u.id, u.email, s.confirmed_at, m.role, t.id, t.slug, t.name, t.plan, t.rate_limit, t.timezone, t.currency, t.suspended_at is not null
          from sessions s
          join users u on u.id = s.user_id
          left join (memberships m join tenants t on t.id = m.tenant_id) on m.user_id = s.user_id and t.slug = tenant
         where s.token_hash = token and live(s);
end $function$;
revoke execute on function use_session(bytea,text) from public;
grant execute on function use_session(bytea,text) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.session_tenants(token bytea)
 RETURNS TABLE(tenant_id bigint, slug text, name text, role text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    select t.id, t.slug, t.name, m.role
      from sessions s
      join memberships m on m.user_id = s.user_id
      join tenants t on t.id = m.tenant_id
     where s.token_hash = token and live(s)
     order by t.name, t.id
$function$;
revoke execute on function session_tenants(bytea) from public;
grant execute on function session_tenants(bytea) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.end_session(token bytea, everywhere boolean)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    delete from sessions s
     where s.token_hash = token
        or everywhere and s.user_id = (select o.user_id from sessions o where o.token_hash = token and live(o))
$function$;
revoke execute on function end_session(bytea,boolean) from public;
grant execute on function end_session(bytea,boolean) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.tenant_members(token bytea)
 RETURNS TABLE(user_id bigint, email text, role text, created_at timestamptz)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    select u.id, u.email, m.role, m.created_at
      from memberships m
      join users u on u.id = m.user_id
     where m.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint
       and (select acting_member(token, '{owner,admin,viewer}')) is not null
     order by u.email
$function$;
revoke execute on function tenant_members(bytea) from public;
grant execute on function tenant_members(bytea) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.store_link(link bytea, purpose text, address text, new_role text, request text, maker bigint)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    here   boolean;
    others boolean;
begin
    -- One at a time, or the operator's and an owner's would not end each other.
    perform from tenants t where t.id = tenant for no key update;
    here   := exists (select from memberships m join users u on u.id = m.user_id where u.email = lower(address) and m.tenant_id = tenant);
    others := exists (select from memberships m join users u on u.id = m.user_id where u.email = lower(address) and m.tenant_id <> tenant);
    delete from one_time_links l where l.created_at < now() - interval '24 hours';
    if exists (select from one_time_links l where l.tenant_id = tenant and l.request = store_link.request) then
        return 'repeated';
    elsif purpose = 'invitation' and here then
        return 'member';
    elsif purpose = 'reset' and not here then
        return 'absent';
    elsif purpose = 'reset' and others then
        return 'elsewhere';
    end if;
    update one_time_links l set expires_at = 'epoch'
     where l.tenant_id = tenant and l.email = lower(address) and l.purpose = store_link.purpose;
    insert into one_time_links (token_hash, tenant_id, purpose, email, role, request, made_by)
    values (link, tenant, purpose, lower(address), new_role, request, maker);
    return 'made';
end $function$;
revoke execute on function store_link(bytea,text,text,text,text,bigint) from public;

CREATE OR REPLACE FUNCTION public.make_link(token bytea, link bytea, purpose text, address text, new_role text, request text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    maker bigint := acting_owner(token);
begin
    if maker is null then
        return 'refused';
    end if;
    return store_link(link, purpose, address, new_role, request, maker);
end $function$;
revoke execute on function make_link(bytea,bytea,text,text,text,text) from public;
grant execute on function make_link(bytea,bytea,text,text,text,text) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.store_reset(link bytea, address text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    person bigint := (select u.id from users u where u.email = lower(address));
begin
    if person is null then
        return false;
    end if;
    update one_time_links l set expires_at = 'epoch' where l.tenant_id is null and l.email = lower(address);
    insert into one_time_links (token_hash, purpose, email) values (link, 'reset', lower(address));
    perform log_person(person, 'password.reset_link', null, true);
    return true;
end $function$;
revoke execute on function store_reset(bytea,text) from public;

CREATE OR REPLACE FUNCTION public.end_reset(address text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    update one_time_links l set expires_at = 'epoch' where l.tenant_id is null and l.email = lower(address) and l.expires_at > now();
    if not found then
        return false;
    end if;
    perform log_person(u.id, 'password.reset_link_revoke', null, true) from users u where u.email = lower(address);
    return true;
end $function$;
revoke execute on function end_reset(text) from public;

CREATE OR REPLACE FUNCTION public.tenant_links(token bytea)
 RETURNS TABLE(id bigint, purpose text, email text, role text, made_by text, created_at timestamptz, expires_at timestamptz)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    select l.id, l.purpose, l.email, l.role, coalesce(u.email, 'operator'), l.created_at, l.expires_at
      from one_time_links l
      left join users u on u.id = l.made_by
     where l.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint and usable(l)
       and (select acting_member(token, '{owner}')) is not null
     order by l.id
$function$;
revoke execute on function tenant_links(bytea) from public;
grant execute on function tenant_links(bytea) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.end_link(token bytea, link bigint)
 RETURNS TABLE(purpose text, email text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    if acting_owner(token) is null then
        return;
    end if;
    return query
        update one_time_links l set expires_at = 'epoch'
         where l.tenant_id = nullif(current_setting('app.tenant_id', true), '')::bigint and l.id = link and l.expires_at > now()
        returning l.purpose, l.email;
end $function$;
revoke execute on function end_link(bytea,bigint) from public;
grant execute on function end_link(bytea,bigint) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.open_link(token bytea)
 RETURNS TABLE(purpose text, email text, role text, tenant_id bigint, tenant_name text, expires_at timestamptz)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    select l.purpose, l.email, l.role, coalesce(t.id, 0), coalesce(t.name, ''), l.expires_at
      from one_time_links l
      left join tenants t on t.id = l.tenant_id
     where l.token_hash = token and usable(l)
$function$;
revoke execute on function open_link(bytea) from public;
grant execute on function open_link(bytea) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.delete_expired_responses(after_tenant bigint, max_rows integer)
 RETURNS TABLE(tenant bigint, deleted integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    tenant := first_free_tenant('delete_expired_responses', array(
        select t.id
          from tenants t
         where t.delete_responses_at <= now() and (after_tenant >= 0 or t.id = -after_tenant)
         order by t.delete_responses_at
         limit 100));
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    delete from idempotency_keys k
     where k.tenant_id = tenant
       and k.key in (
           select e.key
             from idempotency_keys e
            where e.tenant_id = tenant and e.created_at < now() - interval '24 hours'
            order by e.created_at
            limit max_rows
              for update skip locked);
    get diagnostics deleted = row_count;
    update tenants t
       set delete_responses_at = case when deleted = max_rows then now() else
               greatest(now() + interval '15 minutes', interval '24 hours' + least(
                   now(), (select min(k.created_at) from idempotency_keys k where k.tenant_id = tenant))) end
     where t.id = tenant;
    perform set_config('app.tenant_id', before, true);
    return next;
end $function$;
revoke execute on function delete_expired_responses(bigint,integer) from public;
grant execute on function delete_expired_responses(bigint,integer) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.acting_key_manager(token bytea)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
    person bigint;
begin
    perform from tenants t where t.id = nullif(current_setting('app.tenant_id', true), '')::bigint for no key update;
    if token is null and pg_has_role(session_user, 'storeroom_owner', 'member') then
        return null;
    end if;
    person := acting_member(token, '{owner,admin}');
    if person is null then
        raise 'the session may not change keys' using errcode = 'SR002';
    end if;
    return person;
end $function$;
revoke execute on function acting_key_manager(bytea) from public;

CREATE OR REPLACE FUNCTION public.insert_key(creator bigint, key_name text, permissions text[], lifetime interval, request text, prefix text, last4 text, hash bytea, pepper_version smallint)
 RETURNS api_keys
 LANGUAGE plpgsql
AS $function$
declare
    tenant  bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    created api_keys;
begin
    if exists (select from tenants t where t.id = tenant and t.suspended_at is not null) then
        raise 'the tenant is suspended' using errcode = 'SR001';
    end if;
    insert into api_keys (tenant_id, name, permissions, prefix, last4, created_by, expires_at, request)
    values (tenant, key_name, permissions, prefix, last4, creator, now() + lifetime, nullif(request, ''))
    returning * into created;
    insert into key_hashes (hash, pepper_version, tenant_id, key_id) values (hash, pepper_version, tenant, created.id);
    if (select count(*)
          from api_keys k
         where k.tenant_id = tenant
           and k.revoked_at is null
           and (k.expires_at is null or k.expires_at > now())) > 50 then
        raise 'a tenant may have 50 live keys' using errcode = 'SR003';
    end if;
    return created;
end $function$;
revoke execute on function insert_key(bigint,text,text[],interval,text,text,text,bytea,smallint) from public;

CREATE OR REPLACE FUNCTION public.create_key(token bytea, key_name text, permissions text[], lifetime interval, request text, prefix text, last4 text, hash bytea, pepper_version smallint)
 RETURNS api_keys
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    creator bigint := acting_key_manager(token);
begin
    return insert_key(creator, key_name, permissions, lifetime, request, prefix, last4, hash, pepper_version);
end $function$;
revoke execute on function create_key(bytea,text,text[],interval,text,text,text,bytea,smallint) from public;
grant execute on function create_key(bytea,text,text[],interval,text,text,text,bytea,smallint) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.roll_key(token bytea, key_id bigint, overlap interval, prefix text, last4 text, hash bytea, pepper_version smallint)
 RETURNS api_keys
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    tenant    bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    creator   bigint := acting_key_manager(token);
    old       api_keys;
    successor api_keys;
begin
    select * into old from api_keys k where k.tenant_id = tenant and k.id = key_id for no key update;
    if not found then
        raise 'no such key' using errcode = 'SR004';
    elsif old.revoked_at is not null or old.replaced_by is not null or old.expires_at <= now() then
        raise 'the key is revoked, expired or replaced' using errcode = 'SR005';
    end if;
    -- The old key ends first, because insert_key counts the live keys.
    update api_keys k
       set revoked_at = case when overlap = '0' then now() end,
           expires_at = least(k.expires_at, case when overlap > '0' then now() + overlap end)
     where k.tenant_id = tenant and k.id = key_id;
    successor := insert_key(
        creator, old.name, old.permissions, old.expires_at - old.created_at, null, prefix, last4, hash, pepper_version);
    update api_keys k set replaced_by = successor.id where k.tenant_id = tenant and k.id = key_id;
    perform hand_over_webhooks('key', key_id, 'key', successor.id, successor.name, successor.expires_at);
    return successor;
end $function$;
revoke execute on function roll_key(bytea,bigint,interval,text,text,bytea,smallint) from public;
grant execute on function roll_key(bytea,bigint,interval,text,text,bytea,smallint) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.password_parameters(address text)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    select coalesce(
               (select u.password_parameters from users u where u.email = lower(address)),
               '$argon2id$v=19$m=19456,t=2,p=1$' || rtrim(encode(substr(sha256(
                   m.salt_secret || convert_to(lower(address), 'UTF8')), 1, 16), 'base64'), '='))
      from schema_migrations m
     where m.version = 1
$function$;
revoke execute on function password_parameters(text) from public;
grant execute on function password_parameters(text) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.confirm_session(token bytea, successor bytea, proof bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    update sessions s set token_hash = successor, confirmed_at = now()
      from users u
     where s.token_hash = token and live(s) and u.id = s.user_id and u.password_verifier = sha256(proof);
    return found;
end $function$;
revoke execute on function confirm_session(bytea,bytea,bytea) from public;
grant execute on function confirm_session(bytea,bytea,bytea) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.change_password(token bytea, successor bytea, before bytea, after bytea, address text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    person bigint;
begin
    update users u set password_verifier = sha256(after)
      from sessions s
     where s.token_hash = token and live(s) and u.id = s.user_id and u.password_verifier = sha256(before)
    returning u.id into person;
    if person is null then
        return false;
    end if;
    -- Links are locked before sessions, as everywhere, to avoid deadlocks.
    update one_time_links l set expires_at = 'epoch'
      from users u
     where u.id = person and l.email = u.email and l.purpose = 'reset';
    update one_time_links l set expires_at = 'epoch' where l.made_by = person and l.expires_at > now();
    delete from sessions s where s.user_id = person and s.token_hash <> token;
    update sessions s set token_hash = successor, confirmed_at = now() where s.token_hash = token;
    perform log_person(person, 'password.change', address, false);
    return true;
end $function$;
revoke execute on function change_password(bytea,bytea,bytea,bytea,text) from public;
grant execute on function change_password(bytea,bytea,bytea,bytea,text) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.accept_invitation(token bytea, proof bytea, may_create boolean, session bytea)
 RETURNS TABLE(outcome text, user_id bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    link one_time_links;
begin
    select * into link from one_time_links l
     where l.token_hash = token and l.purpose = 'invitation' and l.expires_at > now() for update;
    if not found then
        outcome := 'ended';
        return next;
        return;
    end if;
    if may_create then
        insert into users (email, password_parameters, password_verifier)
        values (link.email, password_parameters(link.email), sha256(proof))
        on conflict (email) do nothing;
    end if;
    select u.id into user_id
      from users u
     where u.email = link.email and u.password_verifier = sha256(proof)
       for update;
    if not found then
        outcome := 'refused';
        return next;
        return;
    end if;
    insert into memberships (tenant_id, user_id, role)
    values (link.tenant_id, accept_invitation.user_id, link.role)
    on conflict do nothing;
    update one_time_links l set expires_at = 'epoch' where l.token_hash = token;
    insert into sessions (token_hash, user_id) values (session, accept_invitation.user_id);
    outcome := 'joined';
    return next;
end $function$;
revoke execute on function accept_invitation(bytea,bytea,boolean,bytea) from public;
grant execute on function accept_invitation(bytea,bytea,boolean,bytea) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.use_reset(token bytea, proof bytea, session bytea, address text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    person users;
begin
    select u.* into person
      from users u
      join one_time_links l on l.email = u.email
     where l.token_hash = token
       for update of u;
    update one_time_links l set expires_at = 'epoch' where l.token_hash = token and l.purpose = 'reset' and usable(l);
    if not found then
        return false;
    end if;
    update one_time_links l set expires_at = 'epoch' where l.email = person.email and l.purpose = 'reset';
    update one_time_links l set expires_at = 'epoch' where l.made_by = person.id and l.expires_at > now();
    update users u set password_verifier = sha256(proof) where u.id = person.id;
    delete from sessions s where s.user_id = person.id;
    insert into sessions (token_hash, user_id) values (session, person.id);
    perform log_person(person.id, 'password.reset', address, false);
    return true;
end $function$;
revoke execute on function use_reset(bytea,bytea,bytea,text) from public;
grant execute on function use_reset(bytea,bytea,bytea,text) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.search_products(patterns text[], narrow jsonb, sort text, descending boolean, page_limit bigint, page_offset bigint)
 RETURNS TABLE(ids bigint[], total bigint)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
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
            conditions := conditions || format(' and p.%I%s = %L', value,
                case value when 'warehouse_id' then ' + 0' else '' end, narrow ->> value);
        end if;
    end loop;
    if narrow ? 'tag' then
        conditions := conditions || format(' and %L = any (p.tags)', narrow ->> 'tag');
    end if;
    if narrow ? 'from' then
        conditions := conditions || format(' and p.created_at + interval ''0'' >= %L', narrow ->> 'from');
    end if;
    if narrow ? 'before' then
        conditions := conditions || format(' and p.created_at + interval ''0'' < %L', narrow ->> 'before');
    end if;
    if narrow ? 'since' then
        conditions := conditions || format(' and p.updated_at >= %L', narrow ->> 'since');
    end if;
    if narrow ? 'after_id' then
        beyond := format('(h.key, h.id) %s (%L, %L)', case when descending then '<' else '>' end,
            narrow ->> 'after_key', narrow ->> 'after_id');
    end if;
    return query execute format($q$
        with hits as materialized (select p.id, p.%1$I as key from public.products p where %2$s)
        select array(select h.id from hits h where %3$s order by h.key %4$s, h.id %4$s limit $2 offset $3),
               (select count(*) from hits)
        $q$, sort, conditions, beyond, direction)
        using nullif(current_setting('app.tenant_id', true), '')::bigint, page_limit, page_offset;
end $function$;
alter function search_products(text[],jsonb,text,boolean,bigint,bigint) owner to storeroom_search;
revoke execute on function search_products(text[],jsonb,text,boolean,bigint,bigint) from public;
grant execute on function search_products(text[],jsonb,text,boolean,bigint,bigint) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.delete_expired_usage(after_tenant bigint, max_rows integer)
 RETURNS TABLE(tenant bigint, deleted integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    tenant := first_free_tenant('delete_expired_usage', array(
        select t.id
          from tenants t
         where t.delete_usage_at <= now() and (after_tenant >= 0 or t.id = -after_tenant)
         order by t.delete_usage_at
         limit 100));
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    delete from key_errors e
     where e.tenant_id = tenant and e.at < now() - interval '90 days';
    delete from key_usage u
     where u.tenant_id = tenant
       and (u.hour, u.key_id, u.route) in (
           select o.hour, o.key_id, o.route
             from key_usage o
            where o.tenant_id = tenant and o.hour < now() - interval '90 days'
            order by o.hour
            limit max_rows
              for update skip locked);
    get diagnostics deleted = row_count;
    update tenants t
       set delete_usage_at = case when deleted = max_rows then now() else
               greatest(now() + interval '15 minutes', interval '90 days' + least(
                   date_trunc('hour', now()), (select min(u.hour) from key_usage u where u.tenant_id = tenant),
                   (select min(e.at) from key_errors e where e.tenant_id = tenant))) end
     where t.id = tenant;
    perform set_config('app.tenant_id', before, true);
    return next;
end $function$;
revoke execute on function delete_expired_usage(bigint,integer) from public;
grant execute on function delete_expired_usage(bigint,integer) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.facets(category_id bigint, seller_id bigint, warehouse_id bigint, tags text[])
 RETURNS TABLE(facet text, value text)
 LANGUAGE sql
 IMMUTABLE
AS $function$
    select facet, value
      from (values ('category', category_id::text), ('seller', seller_id::text), ('warehouse', warehouse_id::text)) f (facet, value)
     where value is not null
     union all
    select 'tag', tag from unnest(tags) tag
$function$;
revoke execute on function facets(bigint,bigint,bigint,text[]) from public;
grant execute on function facets(bigint,bigint,bigint,text[]) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.set_first_id()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    perform pg_advisory_xact_lock(hashtextextended('sold products of tenant ' || new.tenant_id, 0));
    if new.product_id is not null then
        select coalesce(s.first_id, s.id) into new.first_id
          from sold_products s
         where s.tenant_id = new.tenant_id and s.product_id = new.product_id
         limit 1;
    else
        select coalesce(s.first_id, s.id) into new.first_id
          from sold_products s
         where s.tenant_id = new.tenant_id and s.sku = new.sku and s.product_id is null
         limit 1;
    end if;
    return new;
end $function$;
revoke execute on function set_first_id() from public;

CREATE OR REPLACE FUNCTION public.unpack_product_sums()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_sort TO 'off'
AS $function$
begin
    insert into unpacked_sums (tenant_id, month, block)
    select distinct tenant_id, date_trunc('month', day::timestamp)::date,
           case kind when 4 then (key / 16384)::int else -1 end
      from changed_rows
     where kind > 1;
    return null;
end $function$;
revoke execute on function unpack_product_sums() from public;

CREATE OR REPLACE FUNCTION public.pack_product_sums(after_tenant bigint, max_rows integer)
 RETURNS TABLE(tenant bigint, changed integer)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    return query select * from pack_sums(after_tenant, max_rows);
end $function$;
revoke execute on function pack_product_sums(bigint,integer) from public;
grant execute on function pack_product_sums(bigint,integer) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.list_low_products()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
    if (old.quantity, old.reorder_point) is not distinct from (new.quantity, new.reorder_point) then
        return null;
    end if;
    if new.quantity <= new.reorder_point then
        insert into public.low_products (tenant_id, product_id, quantity)
        values (new.tenant_id, new.id, new.quantity)
        on conflict (tenant_id, product_id) do update set quantity = excluded.quantity;
    else
        delete from public.low_products where tenant_id = new.tenant_id and product_id = new.id;
    end if;
    return null;
end $function$;
revoke execute on function list_low_products() from public;

CREATE OR REPLACE FUNCTION public.customer_sales(of_tenant bigint, begins timestamptz, ends timestamptz)
 RETURNS TABLE(customer_ids bytea, revenue bytea, placed_at bytea, refunded_ids bytea, refunds bytea, guests bytea)
 LANGUAGE sql
 STABLE
AS $function$
    with sold as materialized (
        select o.*
          from orders o
         where o.tenant_id = of_tenant
           and o.placed_at >= begins
           and o.placed_at < ends
           and (select c.order_id from cancellations c where c.tenant_id = of_tenant and c.order_id = o.id) is null
         order by o.placed_at, o.id
    ), refunded as materialized (
        select r.amount, o.customer_id
          from refunds r
         cross join lateral (
               select customer_id from orders where tenant_id = of_tenant and id = r.order_id limit 1) o
         where r.tenant_id = of_tenant
           and r.refunded_at >= begins
           and r.refunded_at < ends
           and (select c.order_id from cancellations c where c.tenant_id = of_tenant and c.order_id = r.order_id) is null
         order by r.refunded_at, r.id
    )
    select o.customer_ids, o.revenue, o.placed_at, r.customer_ids, r.amounts,
           g.sums || gr.sums || g.shipping || g.revenue_without_cost
      from (
           select coalesce(string_agg(int8send(s.customer_id), ''), '') as customer_ids,
                  coalesce(string_agg(int8send(s.revenue), ''), '') as revenue,
                  coalesce(string_agg(timestamptz_send(s.placed_at), ''), '') as placed_at
             from sold s
            where s.customer_id is not null
           ) o
     cross join (
           select coalesce(string_agg(int8send(s.customer_id), ''), '') as customer_ids,
                  coalesce(string_agg(int8send(s.amount), ''), '') as amounts
             from refunded s
            where s.customer_id is not null
           ) r
     cross join (
           select int8send(count(*)) || int8send(coalesce(sum(s.items), 0)::bigint)
                  || int8send(coalesce(sum(s.units), 0)::bigint)
                  || int8send(coalesce(sum(s.units_without_cost), 0)::bigint)
                  || int8send(coalesce(sum(s.revenue), 0)::bigint) || int8send(coalesce(sum(s.discounts), 0)::bigint)
                  || int8send(coalesce(sum(s.tax), 0)::bigint) || int8send(coalesce(sum(s.cost), 0)::bigint) as sums,
                  int8send(coalesce(sum(s.shipping), 0)::bigint) as shipping,
                  int8send(coalesce(sum(s.revenue_without_cost), 0)::bigint) as revenue_without_cost
             from sold s
            where s.customer_id is null
           ) g
     cross join (
           select int8send(count(*)) || int8send(coalesce(sum(s.amount), 0)::bigint) as sums
             from refunded s
            where s.customer_id is null
           ) gr
$function$;
revoke execute on function customer_sales(bigint,timestamptz,timestamptz) from public;
grant execute on function customer_sales(bigint,timestamptz,timestamptz) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.pack_customers(after_tenant bigint, max_rows integer)
 RETURNS TABLE(tenant bigint, changed integer)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    return query select * from pack_sums(after_tenant, max_rows);
end $function$;
revoke execute on function pack_customers(bigint,integer) from public;
grant execute on function pack_customers(bigint,integer) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.keep_unused_media()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    files text[];
    times timestamptz[];
begin
    perform set_config('app.tenant_id', old.id::text, true);
    with gone as (
        delete from unused_media where tenant_id = old.id returning file, due
    )
    select array_agg(file), array_agg(due) into files, times from gone;
    perform set_config('app.tenant_id', '0', true);
    insert into unused_media (tenant_id, due, file)
    select 0, u.due, u.file from unnest(files, times) u (file, due);
    perform set_config('app.tenant_id', before, true);
    return null;
end $function$;
revoke execute on function keep_unused_media() from public;

CREATE OR REPLACE FUNCTION public.claim_unused_media(max_rows integer)
 RETURNS TABLE(tenant bigint, file text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    claimed record;
begin
    tenant := -1;
    while max_rows > 0 loop
        tenant := next_tenant_with_work('claim_unused_media', tenant);
        exit when tenant is null;
        continue when not pg_try_advisory_xact_lock(
            hashtextextended('claim_unused_media in the queue of tenant ' || tenant, 0));
        continue when has_worker('claim_unused_media', tenant); -- since the query
        perform set_config('app.tenant_id', tenant::text, true);
        with seen as (
            delete from tenants_with_work w
             where w.task = 'claim_unused_media' and w.tenant_id = tenant and w.worker is null
        )
        insert into tenants_with_work (tenant_id, task)
        select tenant, 'claim_unused_media'
         where exists (select from unused_media u where u.tenant_id = tenant);
        continue when not found;
        for claimed in
            update unused_media u
               set due = now() + interval '10 minutes'
             where u.tenant_id = tenant
               and u.file in (
                   select d.file
                     from unused_media d
                    where d.tenant_id = tenant and d.due <= now()
                    order by d.due
                    limit max_rows
                      for update skip locked)
         returning u.file
        loop
            file := claimed.file;
            max_rows := max_rows - 1;
            return next;
        end loop;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $function$;
revoke execute on function claim_unused_media(integer) from public;
grant execute on function claim_unused_media(integer) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.forget_unused_media(of_tenant bigint, files text[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    tenant bigint;
begin
    foreach tenant in array array[of_tenant, 0] loop
        perform set_config('app.tenant_id', tenant::text, true);
        with forgotten as (
            delete from unused_media where tenant_id = tenant and file = any (files) returning file
        )
        delete from old_media o where o.tenant_id = tenant and o.file in (select f.file from forgotten f);
    end loop;
    perform set_config('app.tenant_id', before, true);
end $function$;
revoke execute on function forget_unused_media(bigint,text[]) from public;
grant execute on function forget_unused_media(bigint,text[]) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.customer_text(number text, name text, email text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE COST 100000
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    return ' ' || lower(number collate "default" || ' ' || coalesce(name, '') || ' ' || coalesce(email, ''));
end $function$;
revoke execute on function customer_text(text,text,text) from public;
grant execute on function customer_text(text,text,text) to storeroom_runtime, storeroom_search;

CREATE OR REPLACE FUNCTION public.search_customers(patterns text[])
 RETURNS bigint[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
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
end $function$;
alter function search_customers(text[]) owner to storeroom_search;
revoke execute on function search_customers(text[]) from public;
grant execute on function search_customers(text[]) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.delete_expired_change_plans(after_tenant bigint, max_rows integer)
 RETURNS TABLE(tenant bigint, deleted integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    expired bigint[];
    of_facts integer;
    of_plans integer;
begin
    tenant := first_free_tenant('delete_expired_change_plans', array(
        select t.id
          from tenants t
         where t.delete_plans_at <= now() and (after_tenant >= 0 or t.id = -after_tenant)
         order by t.delete_plans_at
         limit 100));
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    expired := array(
        select p.id
          from change_plans p
         where p.tenant_id = tenant and p.expires_at < now() and p.state not in ('applying', 'undoing')
           for update skip locked);
    delete from change_plan_parts c
     where c.tenant_id = tenant
       and (c.plan_id, c.part) in (
           select d.plan_id, d.part
             from change_plan_parts d
            where d.tenant_id = tenant and d.plan_id = any (expired)
            limit max_rows);
    get diagnostics deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = tenant
       and (f.plan_id, f.kind, f.id) in (
           select g.plan_id, g.kind, g.id
             from imported_facts g
            where g.tenant_id = tenant and g.plan_id = any (expired)
            limit 100 * max_rows);
    get diagnostics of_facts = row_count;
    if of_facts = 100 * max_rows then
        deleted := max_rows;
    elsif deleted < max_rows then
        delete from change_plans p where p.tenant_id = tenant and p.id = any (expired);
        get diagnostics of_plans = row_count;
        deleted := least(deleted + of_plans, max_rows);
    end if;
    update tenants t
       set delete_plans_at = case when deleted = max_rows then now() else
               greatest(now() + interval '15 minutes', least(
                   now() + interval '24 hours',
                   (select min(p.expires_at) from change_plans p where p.tenant_id = tenant))) end
     where t.id = tenant;
    perform set_config('app.tenant_id', before, true);
    return next;
end $function$;
revoke execute on function delete_expired_change_plans(bigint,integer) from public;
grant execute on function delete_expired_change_plans(bigint,integer) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.record_facts(of_plan bigint, of_kind text, ids bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    of_tenant bigint := nullif(current_setting('app.tenant_id', true), '');
    recorded integer;
begin
    if not exists (
        select from change_plans p where p.tenant_id = of_tenant and p.id = of_plan and p.state = 'applying') then
        raise exception 'no plan % is being applied', of_plan using errcode = 'insufficient_privilege';
    end if;
    insert into imported_facts (tenant_id, plan_id, kind, id)
    select of_tenant, of_plan, of_kind, r.id
      from (
           select o.id from orders o
            where of_kind = 'orders' and o.tenant_id = of_tenant and o.id = any (ids) and o.created_at = now()
           union all
           select r.id from refunds r
            where of_kind = 'refunds' and r.tenant_id = of_tenant and r.id = any (ids) and r.created_at = now()
           union all
           select c.order_id from cancellations c
            where of_kind = 'cancellations' and c.tenant_id = of_tenant and c.order_id = any (ids)
              and c.created_at = now()
           union all
           select c.id from customers c
            where of_kind = 'customers' and c.tenant_id = of_tenant and c.id = any (ids) and c.created_at = now()
           ) r;
    get diagnostics recorded = row_count;
    if recorded <> cardinality(ids) then
        raise exception 'the transaction created % of % rows', recorded, cardinality(ids)
              using errcode = 'insufficient_privilege';
    end if;
end $function$;
revoke execute on function record_facts(bigint,text,bigint[]) from public;
grant execute on function record_facts(bigint,text,bigint[]) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.reserve_media(new_file text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    of_tenant bigint := nullif(current_setting('app.tenant_id', true), '');
begin
    perform from tenants t where t.id = of_tenant for key share;
    if not found then
        return false;
    end if;
    if not owns_file(of_tenant, new_file) then
        raise exception 'the file belongs to another tenant' using errcode = 'insufficient_privilege';
    end if;
    insert into unused_media (tenant_id, due, file) values (of_tenant, now() + interval '1 hour', new_file);
    return true;
end $function$;
revoke execute on function reserve_media(text) from public;
grant execute on function reserve_media(text) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.count_due_change_plans()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    due constant text[] := '{planning,applying,undoing}';
    difference integer := 0;
begin
    if tg_op <> 'DELETE' then
        difference := (new.state = any (due))::integer;
    end if;
    if tg_op <> 'INSERT' then
        difference := difference - (old.state = any (due))::integer;
    end if;
    if difference <> 0 then
        update tenants
           set due_change_plans = due_change_plans + difference
         where id = case tg_op when 'DELETE' then old.tenant_id else new.tenant_id end;
    end if;
    return null;
end $function$;
revoke execute on function count_due_change_plans() from public;

CREATE OR REPLACE FUNCTION public.claim_due_change_plan(by_worker uuid, seconds integer, after_tenant bigint, of_tenant bigint, of_plan bigint, of_long boolean)
 RETURNS TABLE(tenant bigint, plan bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    for tenant in
        select t.id
          from tenants t
         where of_tenant is null and t.id > after_tenant and t.suspended_at is null and t.due_change_plans > 0
         union all
        select t.id from tenants t where t.id = of_tenant
         order by 1
    loop
        perform set_config('app.tenant_id', tenant::text, true);
        if of_plan is null then
            select p.id into plan
              from change_plans p
             where p.tenant_id = tenant
               and p.state in ('planning', 'applying', 'undoing')
               and (of_long is null or p.is_long = of_long)
               and (p.state <> 'planning'
                    or exists (select from change_plan_files f where f.tenant_id = tenant and f.plan_id = p.id))
               and (p.worker is not null or p.lease_until is null or p.lease_until <= clock_timestamp())
             order by p.id
             limit 1
               for update skip locked;
        else
            select p.id into plan
              from change_plans p
             where p.tenant_id = tenant and p.id = of_plan
               for update skip locked;
        end if;
        continue when plan is null;
        continue when not pg_try_advisory_xact_lock(hashtextextended('change plans of tenant ' || tenant, 0));
        continue when exists (
            select from change_plans p
             where p.tenant_id = tenant and p.worker is not null
               and p.lease_until is not null and p.lease_until > clock_timestamp());
        update change_plans p
           set state = 'failed', failure = 'The work was interrupted too often.', attempts = 0
         where p.tenant_id = tenant and p.id = plan and p.attempts >= 5 and of_plan is null;
        continue when found;
        update change_plans p
           set worker = by_worker, lease_until = clock_timestamp() + make_interval(secs => seconds),
               attempts = p.attempts + 1
         where p.tenant_id = tenant and p.id = plan;
        return next;
        exit;
    end loop;
    perform set_config('app.tenant_id', before, true);
end $function$;
revoke execute on function claim_due_change_plan(uuid,integer,bigint,bigint,bigint,boolean) from public;
grant execute on function claim_due_change_plan(uuid,integer,bigint,bigint,bigint,boolean) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.wal_position(OUT lsn pg_lsn, OUT timeline_id uuid)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    current timelines;
begin
    -- With synchronous_commit = off a transaction is acknowledged before its WAL is flushed.
    lsn := case current_setting('synchronous_commit')
               when 'off' then pg_current_wal_insert_lsn()
               else pg_current_wal_flush_lsn() end;
    select c.system_identifier, d.oid, left(pg_walfile_name(lsn), 8)
      into current.system, current.database, current.timeline
      from pg_control_system() c, pg_database d
     where d.datname = current_database();
    for tries in 1..2 loop
        select t.id into timeline_id
          from timelines t
         where t.system = current.system and t.database = current.database and t.timeline = current.timeline;
        exit when found;
        insert into timelines (system, database, timeline)
        values (current.system, current.database, current.timeline)
            on conflict do nothing;
    end loop;
end $function$;
revoke execute on function wal_position() from public;
grant execute on function wal_position() to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.has_replayed(lsn pg_lsn, timeline_id uuid)
 RETURNS boolean
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    select case when pg_is_in_recovery()
                then coalesce(pg_last_wal_replay_lsn() >= lsn, false)
                     and exists (select from timelines t where t.id = timeline_id) end
$function$;
revoke execute on function has_replayed(pg_lsn,uuid) from public;
grant execute on function has_replayed(pg_lsn,uuid) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.queue_task()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_sort TO 'off'
AS $function$
begin
    insert into tenants_with_work (tenant_id, task) select distinct n.tenant_id, tg_argv[0] from new_rows n;
    return null;
end $function$;
revoke execute on function queue_task() from public;

CREATE OR REPLACE FUNCTION public.next_tenant_with_work(of_task text, after_tenant bigint)
 RETURNS bigint
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
    select w.tenant_id
      from tenants_with_work w
     where w.task = of_task and w.tenant_id > after_tenant and not has_worker(of_task, w.tenant_id)
     order by w.tenant_id
     limit 1;
$function$;
revoke execute on function next_tenant_with_work(text,bigint) from public;

CREATE OR REPLACE FUNCTION public.first_free_tenant(of_task text, ids bigint[])
 RETURNS bigint
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    select i.id
      from unnest(ids) i (id)
     where pg_try_advisory_xact_lock(hashtextextended(of_task || ' of tenant ' || i.id, 0))
       and exists (select from tenants t where t.id = i.id for key share skip locked)
     limit 1;
$function$;
revoke execute on function first_free_tenant(text,bigint[]) from public;

CREATE OR REPLACE FUNCTION public.skip_tenant(of_task text, after_tenant bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    skipped bigint;
begin
    case of_task
    when 'delete_expired_responses' then
        skipped := first_free_tenant(of_task, array(
            select t.id from tenants t where t.delete_responses_at <= now() order by t.delete_responses_at limit 100));
        update tenants set delete_responses_at = now() + interval '1 hour' where id = skipped;
    when 'delete_expired_usage' then
        skipped := first_free_tenant(of_task, array(
            select t.id from tenants t where t.delete_usage_at <= now() order by t.delete_usage_at limit 100));
        update tenants set delete_usage_at = now() + interval '1 hour' where id = skipped;
    when 'delete_expired_change_plans' then
        skipped := first_free_tenant(of_task, array(
            select t.id from tenants t where t.delete_plans_at <= now() order by t.delete_plans_at limit 100));
        update tenants set delete_plans_at = now() + interval '1 hour' where id = skipped;
    when 'recount_quotas' then
        skipped := first_free_tenant(of_task, array(
            select t.id from tenants t where t.recount_quotas_at <= now() order by t.recount_quotas_at limit 100));
        update tenants set recount_quotas_at = now() + interval '1 hour' where id = skipped;
    else
        skipped := next_tenant_with_work(of_task, after_tenant);
    end case;
    return skipped;
end $function$;
revoke execute on function skip_tenant(text,bigint) from public;
grant execute on function skip_tenant(text,bigint) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.feed_epoch(of_tenant bigint)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
declare
    last public.feed_epochs;
    here public.feed_epochs;
    lock_id constant bigint := hashtextextended('change feed of tenant ' || of_tenant, 0);
begin
    here.relation := 'public.changes'::regclass::oid;
    for tries in 1..2 loop
        select e.* into last from public.feed_epochs e where e.tenant_id = of_tenant order by e.epoch desc limit 1;
        if last.started_at = pg_postmaster_start_time() and last.relation = here.relation then
            return last.epoch;
        end if;
        here.system := (select system_identifier from pg_control_system());
        here.timeline := left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
        if last.system = here.system and last.timeline = here.timeline and last.relation = here.relation then
            -- The server was started again. Transactions that write rows of each other must not wait here.
            if pg_try_advisory_xact_lock(lock_id) then
                update public.feed_epochs e set started_at = pg_postmaster_start_time()
                 where e.tenant_id = of_tenant and e.epoch = last.epoch;
            end if;
            return last.epoch;
        end if;
        -- Another transaction may be beginning the epoch. The second try sees it.
        perform pg_advisory_xact_lock(lock_id);
    end loop;
    here.epoch := greatest(last.epoch + 1, extract(epoch from clock_timestamp())::bigint);
    insert into public.feed_epochs (tenant_id, epoch, system, timeline, relation, started_at)
    values (of_tenant, here.epoch, here.system, here.timeline, here.relation, pg_postmaster_start_time());
    return here.epoch;
end $function$;
revoke execute on function feed_epoch(bigint) from public;
grant execute on function feed_epoch(bigint) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.record_products()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
    grown record;
begin
    -- An update of updated_at alone moves stock between warehouses. Each row has a partner, but only a full join is
    -- never a nested loop, which would compare each row with all others.
    with compared as materialized (
         select n.tenant_id, n.id,
                public.product_bytes(n.sku, n.name, n.description, n.bin_location, n.upc, n.tags, n.images)
                - public.product_bytes(o.sku, o.name, o.description, o.bin_location, o.upc, o.tags, o.images) as bytes,
                array_remove(array[
                  case when n.sku <> o.sku then 'sku' end,
                  case when n.name <> o.name then 'name' end,
                  case when n.description is distinct from o.description then 'description' end,
                  case when n.price <> o.price then 'price' end,
                  case when n.msrp is distinct from o.msrp then 'msrp' end,
                  case when n.cost is distinct from o.cost then 'cost' end,
                  case when n.status <> o.status then 'status' end,
                  case when n.condition <> o.condition then 'condition' end,
                  case when n.quantity <> o.quantity then 'quantity' end,
                  case when n.reorder_point is distinct from o.reorder_point then 'reorder_point' end,
                  case when n.category_id is distinct from o.category_id then 'category' end,
                  case when n.seller_id is distinct from o.seller_id then 'seller' end,
                  case when n.warehouse_id <> o.warehouse_id then 'warehouse' end,
                  case when n.bin_location is distinct from o.bin_location then 'bin_location' end,
                  case when n.upc is distinct from o.upc then 'upc' end,
                  case when n.tags <> o.tags then 'tags' end,
                  case when n.images <> o.images then 'images' end,
                  case when n.updated_at <> o.updated_at then 'updated_at' end], null) as changed
           from new_rows n
           full join old_rows o on o.id = n.id and o.tenant_id = n.tenant_id
    ), recorded as (
         insert into public.changes (tenant_id, epoch, action, types, changed, ids)
         select c.tenant_id, public.feed_epoch(c.tenant_id), 'updated',
                case when c.changed && '{quantity,warehouse}' or c.changed = '{updated_at}'
                     then '{product,stock}'::text[] else '{product}' end,
                c.changed, array_agg(c.id::text)
           from compared c
          where c.changed <> '{}'
          group by c.tenant_id, c.changed
    )
    select min(c.tenant_id) as tenant, sum(c.bytes)::bigint as bytes into grown from compared c;
    perform public.add_to_quota(grown.tenant, grown.bytes, 0, grown.bytes > 0);
    return null;
end $function$;
revoke execute on function record_products() from public;

CREATE OR REPLACE FUNCTION public.record_row()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
    before jsonb := case when tg_op <> 'INSERT' then to_jsonb(old) end;
    after jsonb := case when tg_op <> 'DELETE' then to_jsonb(new) end;
    stored jsonb := coalesce(after, before);
begin
    insert into public.changes (tenant_id, epoch, action, types, changed, ids)
    values ((stored ->> 'tenant_id')::bigint, public.feed_epoch((stored ->> 'tenant_id')::bigint),
            case tg_op when 'INSERT' then 'created' when 'UPDATE' then 'updated' else 'deleted' end, array[tg_argv[0]],
            array(select regexp_replace(key, '_id$', '') -- the warehouse of a channel
                    from jsonb_each(before) b where b.value <> after -> b.key order by key),
            array[stored ->> tg_argv[1]]);
    return null;
end $function$;
revoke execute on function record_row() from public;

CREATE OR REPLACE FUNCTION public.record_customers()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
    of_another_rule constant boolean := current_setting('app.text_version', true) is distinct from '1';
begin
    if tg_op = 'INSERT' then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select n.tenant_id, public.feed_epoch(n.tenant_id), 'created', '{customer}', array_agg(n.number)
          from new_rows n
         group by n.tenant_id;
        if of_another_rule then
            insert into public.unfilled_texts (tenant_id, kind, first_id, last_id)
            select n.tenant_id, 'customer', min(n.id), max(n.id) from new_rows n group by n.tenant_id;
        end if;
    else
        insert into public.changes (tenant_id, epoch, action, types, changed, ids)
        select c.tenant_id, public.feed_epoch(c.tenant_id), 'updated', '{customer}', c.changed, array_agg(c.number)
          from (
               select n.tenant_id, n.number, array_remove(array[
                      case when n.name is distinct from o.name then 'name' end,
                      case when n.email is distinct from o.email then 'email' end,
                      case when n.erased_at is distinct from o.erased_at then 'erased_at' end], null) as changed
                 from new_rows n
                 full join old_rows o on o.id = n.id and o.tenant_id = n.tenant_id
               ) c
         where c.changed <> '{}'
         group by c.tenant_id, c.changed;
        if of_another_rule then
            with changed as (
                 select n.tenant_id, n.id
                   from new_rows n
                   full join old_rows o on o.id = n.id and o.tenant_id = n.tenant_id
                  where (n.number, n.name, n.email) is distinct from (o.number, o.name, o.email)
            ), deleted as (
                 delete from public.customer_texts t
                  where (t.tenant_id, t.customer_id) in (select c.tenant_id, c.id from changed c)
            )
            insert into public.unfilled_texts (tenant_id, kind, first_id, last_id)
            select c.tenant_id, 'customer', c.id, c.id from changed c;
        end if;
    end if;
    return null;
end $function$;
revoke execute on function record_customers() from public;

CREATE OR REPLACE FUNCTION public.record_sales()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
    if tg_table_name = 'orders' then
        insert into public.unpacked_customers (tenant_id, day)
        select distinct n.tenant_id, (n.placed_at at time zone 'UTC')::date from new_rows n;
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select n.tenant_id, public.feed_epoch(n.tenant_id), 'created', '{order}', array_agg(n.number)
          from new_rows n
         group by n.tenant_id;
        perform public.add_to_quota(min(n.tenant_id), 0, count(*) + sum(n.items), true) from new_rows n;
        return null;
    elsif tg_table_name = 'refunds' then
        insert into public.unpacked_customers (tenant_id, day)
        select distinct n.tenant_id, (n.refunded_at at time zone 'UTC')::date from new_rows n;
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select n.tenant_id, public.feed_epoch(n.tenant_id), 'created', '{refund}', array_agg(n.id::text)
          from new_rows n
         group by n.tenant_id;
        perform public.add_to_quota(min(n.tenant_id), 0, count(*), false) from new_rows n;
    else
        insert into public.unpacked_customers (tenant_id, day)
        select n.tenant_id, (n.placed_at at time zone 'UTC')::date from new_rows n
         union
        select r.tenant_id, (r.refunded_at at time zone 'UTC')::date
          from new_rows n
         cross join lateral (
               select * from public.refunds where tenant_id = n.tenant_id and order_id = n.order_id offset 0) r;
    end if;
    insert into public.changes (tenant_id, epoch, action, types, changed, ids)
    select n.tenant_id, public.feed_epoch(n.tenant_id), 'updated', '{order}', case tg_table_name
           when 'refunds' then '{items,refunded_total,refunds,updated_at}'::text[]
           else '{cancelled_at,status,updated_at}' end, array_agg(o.number)
      from (select distinct tenant_id, order_id from new_rows) n
     cross join lateral (select number from public.orders where tenant_id = n.tenant_id and id = n.order_id limit 1) o
     group by n.tenant_id;
    return null;
end $function$;
revoke execute on function record_sales() from public;

CREATE OR REPLACE FUNCTION public.empty_old_changes(days integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET lock_timeout TO '500ms'
AS $function$
declare
    now_in integer := ((clock_timestamp() at time zone 'UTC')::date - date '2000-01-01') / 10;
    kept integer := (least(greatest(days, 30), 90) + 9) / 10;
    partition regclass;
    emptied integer := 0;
begin
    perform set_config('citus.enable_manual_changes_to_shards', 'on', true);
    for partition in -- without pg_class, in which Citus hides them
        select i.inhrelid
          from pg_inherits i
         where i.inhparent = 'public.changes'::regclass
           and substring(pg_get_partition_constraintdef(i.inhrelid) from '[0-9]+')::integer
               in (select n % 12 from generate_series(now_in + 2, now_in + 11 - kept) n)
           and pg_relation_size(i.inhrelid) > 0
    loop
        execute format('truncate %s', partition);
        emptied := emptied + 1;
    end loop;
    return emptied;
end $function$;
revoke execute on function empty_old_changes(integer) from public;
grant execute on function empty_old_changes(integer) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.empty_old_webhook_deliveries()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET lock_timeout TO '500ms'
AS $function$
declare
    unused integer := (((clock_timestamp() at time zone 'UTC')::date - date '2000-01-01') / 10 + 2) % 6;
    partition regclass;
    emptied integer := 0;
begin
    perform set_config('citus.enable_manual_changes_to_shards', 'on', true);
    for partition in -- without pg_class, in which Citus hides them
        select i.inhrelid
          from pg_inherits i
         where i.inhparent = 'public.webhook_deliveries'::regclass
           and substring(pg_get_partition_constraintdef(i.inhrelid) from '[0-9]+')::integer = unused
           and pg_relation_size(i.inhrelid) > 0
    loop
        execute format('truncate %s', partition);
        emptied := emptied + 1;
    end loop;
    if emptied > 0 then -- no trigger counts them
        update tenants set recount_quotas_at = now() where recount_quotas_at > now();
    end if;
    return emptied;
end $function$;
revoke execute on function empty_old_webhook_deliveries() from public;
grant execute on function empty_old_webhook_deliveries() to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.delete_unused_deliveries(after_tenant bigint, max_rows integer)
 RETURNS TABLE(tenant bigint, deleted integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    webhook bigint := 0;
    last bigint;
    rows integer;
begin
    deleted := 0;
    tenant := case when after_tenant < 0 then -after_tenant
                   else next_tenant_with_work('delete_unused_deliveries', after_tenant) end;
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    if after_tenant < 0 then
        perform pg_advisory_xact_lock(hashtextextended('deliveries of tenant ' || tenant, 0));
    end if;
    if pg_try_advisory_xact_lock(hashtextextended('deliveries of tenant ' || tenant, 0)) then
        delete from tenants_with_work w
         where w.task = 'delete_unused_deliveries' and w.tenant_id = tenant and w.worker is null;
        loop
            webhook := (
                select d.webhook_id
                  from webhook_deliveries d
                 where d.tenant_id = tenant and d.webhook_id > webhook
                 order by d.webhook_id
                 limit 1);
            exit when webhook is null or deleted = max_rows;
            continue when exists (select from webhooks w where w.tenant_id = tenant and w.id = webhook);
            last := (
                select max(f.id)
                  from (
                       select d.id
                         from webhook_deliveries d
                        where d.tenant_id = tenant and d.webhook_id = webhook
                        order by d.id
                        limit max_rows - deleted
                       ) f);
            delete from webhook_deliveries d
             where d.tenant_id = tenant and d.webhook_id = webhook and d.id <= last;
            get diagnostics rows = row_count;
            deleted := deleted + rows;
        end loop;
        if deleted = max_rows then
            insert into tenants_with_work (tenant_id, task) values (tenant, 'delete_unused_deliveries');
        end if;
    end if;
    perform set_config('app.tenant_id', before, true);
    return next;
end $function$;
revoke execute on function delete_unused_deliveries(bigint,integer) from public;
grant execute on function delete_unused_deliveries(bigint,integer) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.queue_webhooks()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    if current_setting('app.queued_webhooks', true) is distinct from new.tenant_id::text and exists (
        select from webhooks w where w.tenant_id = new.tenant_id and w.state = 'active')
    then
        insert into tenants_with_work (tenant_id, task) values (new.tenant_id, 'webhooks');
        perform set_config('app.queued_webhooks', new.tenant_id::text, true);
    end if;
    return null;
end $function$;
revoke execute on function queue_webhooks() from public;

CREATE OR REPLACE FUNCTION public.queue_webhook()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    if old.lease_until is not null then
        delete from tenants_with_work w
         where w.task = 'webhooks' and w.tenant_id = new.tenant_id and w.worker is null and w.due = old.lease_until;
    end if;
    if new.state = 'active' then
        insert into tenants_with_work (tenant_id, task, due)
        values (new.tenant_id, 'webhooks', coalesce(new.lease_until, new.next_attempt_at));
    end if;
    return null;
end $function$;
revoke execute on function queue_webhook() from public;

CREATE OR REPLACE FUNCTION public.claim_webhooks(by_worker uuid, seconds integer, max_rows integer, max_failing integer)
 RETURNS TABLE(tenant bigint, webhook bigint, has_failed boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    running integer;
    failing integer;
    next_due timestamptz;
    hook record;
begin
    while max_rows > 0 loop
        tenant := (select c.tenant from claim_work('webhooks', by_worker, 60, 0) c);
        exit when tenant is null;
        perform set_config('app.tenant_id', tenant::text, true);
        update webhooks w
           set state = 'paused', pause_reason = 'maker_gone', paused_at = now(), message_end = null,
               worker = null, updated_at = now(),
               lease_until = case when w.lease_until > clock_timestamp()
                                  then least(w.lease_until, clock_timestamp() + interval '30 seconds') end
         where w.tenant_id = tenant and w.state = 'active' and w.maker_expires_at <= clock_timestamp();
        select count(*), count(*) filter (where w.attempts > 0),
               min(case when has_changes_after(tenant, w.delivered_to) then clock_timestamp() + interval '1 second'
                        else w.lease_until end)
          into running, failing, next_due
          from webhooks w
         where w.tenant_id = tenant and w.state = 'active' and w.lease_until > clock_timestamp();
        for hook in
            select w.*, w.attempts > 0 as has_failed,
                   w.next_attempt_at <= clock_timestamp()
                   or w.attempts = 0 and has_changes_after(tenant, w.delivered_to) as is_due,
                   w.id in (select f.id from webhooks f where f.tenant_id = tenant for no key update skip locked) as is_free
              from webhooks w
             where w.tenant_id = tenant and w.state = 'active'
               and (w.lease_until is null or w.lease_until <= clock_timestamp())
             order by w.last_attempt_at nulls first, w.id
        loop
            next_due := least(next_due, hook.maker_expires_at,
                case when hook.updated_at > clock_timestamp() - interval '1 minute'
                     then hook.updated_at + interval '1 minute' end);
            if not hook.is_due then
                next_due := least(next_due, hook.next_attempt_at);
            elsif not hook.is_free or running >= 4 or max_rows <= 0 then
                next_due := least(next_due, clock_timestamp() + interval '1 second');
            elsif hook.has_failed and (failing >= 2 or max_failing <= 0) then
                next_due := least(next_due, clock_timestamp() + interval '30 seconds' * (1 + random()));
            else
                webhook := hook.id;
                has_failed := hook.has_failed;
                update webhooks w
                   set worker = by_worker, lease_until = clock_timestamp() + make_interval(secs => seconds)
                 where w.tenant_id = tenant and w.id = webhook;
                running := running + 1;
                max_rows := max_rows - 1;
                if has_failed then
                    failing := failing + 1;
                    max_failing := max_failing - 1;
                end if;
                return next;
            end if;
        end loop;
        perform move_work('webhooks', tenant, by_worker, case when next_due is null then 'done' else 'due' end,
            extract(epoch from next_due - clock_timestamp()));
    end loop;
    perform set_config('app.tenant_id', before, true);
end $function$;
revoke execute on function claim_webhooks(uuid,integer,integer,integer) from public;
grant execute on function claim_webhooks(uuid,integer,integer,integer) to storeroom_runtime;

create aggregate add_up(bigint) (sfunc = int8pl, stype = bigint, initcond = '0', combinefunc = int8pl, parallel = safe);

CREATE OR REPLACE FUNCTION public.sign_in(token bytea, account text, proof bytea, network text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    insert into sessions (token_hash, user_id)
    select token, u.id
      from users u
     where u.email = lower(account) and u.password_verifier = sha256(proof)
       for share;
    if not found then
        return false;
    end if;
    delete from sessions s where s.created_at < now() - interval '12 hours';
    perform log_person(u.id, 'sign_in', network, false) from users u where u.email = lower(account);
    return true;
end $function$;
revoke execute on function sign_in(bytea,text,bytea,text) from public;
grant execute on function sign_in(bytea,text,bytea,text) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.log_failed_sign_in(account text, network text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    tenant bigint;
    before text := coalesce(current_setting('app.tenant_id', true), '');
    hour   timestamp := date_trunc('hour', now() at time zone 'UTC');
begin
    for tenant in
        select m.tenant_id from memberships m join users u on u.id = m.user_id where u.email = lower(account) order by 1
    loop
        perform set_config('app.tenant_id', tenant::text, true);
        insert into audit_log as a (tenant_id, actor, address, action, target, details, at)
        select tenant, 'unknown', case when count(*) < 20 or bool_or(f.address = network) then network end,
               'sign_in.failed', lower(account), '{"attempts": 1}', now()
          from audit_log f
         where f.tenant_id = tenant and f.target = lower(account) and f.action = 'sign_in.failed'
           and date_trunc('hour', f.at at time zone 'UTC') = hour
        on conflict (tenant_id, target, date_trunc('hour', at at time zone 'UTC'), address)
              where action = 'sign_in.failed'
        do update set details = jsonb_build_object('attempts', (a.details->>'attempts')::bigint + 1);
    end loop;
    perform set_config('app.tenant_id', before, true);
end $function$;
revoke execute on function log_failed_sign_in(text,text) from public;
grant execute on function log_failed_sign_in(text,text) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.lock_maker(key_id bigint, token bytea)
 RETURNS TABLE(maker_type text, maker_id bigint, maker_name text, expires_at timestamptz)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    k      api_keys;
begin
    if key_id is null then
        return query
            select 'member', m.user_id, u.email::text, null::timestamptz
              from memberships m
              join users u on u.id = m.user_id
             where m.tenant_id = tenant and m.user_id = acting_member(token, '{owner,admin}')
               for share of m;
        return;
    end if;
    loop
        select * into k
          from api_keys a
         where a.tenant_id = tenant and a.id = lock_maker.key_id
           and a.revoked_at is null and (a.expires_at is null or a.expires_at > now())
           for share;
        exit when not found;
        maker_type := 'key';
        maker_id := k.id;
        maker_name := k.name;
        expires_at := k.expires_at;
        exit when k.replaced_by is null;
        key_id := k.replaced_by;
    end loop;
    if maker_id is not null then
        return next;
    end if;
end $function$;
revoke execute on function lock_maker(bigint,bytea) from public;
grant execute on function lock_maker(bigint,bytea) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.hand_over_webhooks(from_type text, from_id bigint, to_type text, to_id bigint, to_name text, to_expires_at timestamptz)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
begin
    perform set_config('citus.propagate_set_commands', 'local', true);
    execute format('set local app.tenant_id = %L', tenant); -- also on the node with the webhooks
    update webhooks w
       set maker_type = to_type, maker_id = to_id, maker_name = to_name, maker_expires_at = to_expires_at,
           next_attempt_at = w.next_attempt_at -- fires queue_webhook
     where w.tenant_id = tenant and w.maker_type = from_type and w.maker_id = from_id;
end $function$;
revoke execute on function hand_over_webhooks(text,bigint,text,bigint,text,timestamptz) from public;

CREATE OR REPLACE FUNCTION public.end_maker(of_type text, of_id bigint, person bigint, keep boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    -- A generic plan of an update on a cluster fails with functions that are not immutable.
    moment constant timestamptz := clock_timestamp();
    grace_end constant timestamptz := moment + interval '30 seconds';
begin
    if keep then
        perform hand_over_webhooks(of_type, of_id, case when person is not null then 'member' end, person,
                                   (select u.email from users u where u.id = person), null);
        return;
    end if;
    perform set_config('citus.propagate_set_commands', 'local', true);
    execute format('set local app.tenant_id = %L', tenant);
    update webhooks w
       set state = 'paused', pause_reason = 'maker_gone', paused_at = coalesce(w.paused_at, moment), message_end = null,
           worker = null, updated_at = moment,
           lease_until = case when w.lease_until > moment then least(w.lease_until, grace_end) end
     where w.tenant_id = tenant and w.maker_type = of_type and w.maker_id = of_id;
end $function$;
revoke execute on function end_maker(text,bigint,bigint,boolean) from public;

CREATE OR REPLACE FUNCTION public.revoke_key(token bytea, key_id bigint, keep_webhooks boolean)
 RETURNS SETOF api_keys
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
    person bigint := acting_key_manager(token);
begin
    return query select * from api_keys k where k.tenant_id = tenant and k.id = key_id for no key update;
    update api_keys k set revoked_at = now() where k.tenant_id = tenant and k.id = key_id and k.revoked_at is null;
    if found then
        perform end_maker('key', key_id, person, keep_webhooks);
    end if;
end $function$;
revoke execute on function revoke_key(bytea,bigint,boolean) from public;
grant execute on function revoke_key(bytea,bigint,boolean) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.set_member(person bigint, new_role text, by_person bigint, keep_webhooks boolean)
 RETURNS TABLE(email text, before text, outcome text)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    tenant bigint := nullif(current_setting('app.tenant_id', true), '')::bigint;
begin
    -- One at a time, or two owners could remove each other.
    perform from tenants t where t.id = tenant for no key update;
    select u.email, m.role into email, before
      from memberships m join users u on u.id = m.user_id
     where m.tenant_id = tenant and m.user_id = person;
    if not found then
        outcome := 'absent';
    elsif before = 'owner' and new_role is distinct from 'owner'
          and not exists (select from memberships m where m.tenant_id = tenant and m.role = 'owner' and m.user_id <> person) then
        outcome := 'last_owner';
    elsif before = new_role then
        outcome := 'same';
    else
        update one_time_links l set expires_at = 'epoch'
         where l.tenant_id = tenant and (l.made_by = person or new_role is null and l.email = set_member.email);
        if new_role is null then
            delete from memberships m where m.tenant_id = tenant and m.user_id = person;
            perform end_maker('member', person, by_person, keep_webhooks and person is distinct from by_person);
        else
            update memberships m set role = new_role where m.tenant_id = tenant and m.user_id = person;
        end if;
        delete from sessions s where s.user_id = person;
        outcome := 'changed';
    end if;
    return next;
end $function$;
revoke execute on function set_member(bigint,text,bigint,boolean) from public;

CREATE OR REPLACE FUNCTION public.change_member(token bytea, person bigint, new_role text, keep_webhooks boolean)
 RETURNS TABLE(email text, before text, outcome text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    owner bigint := acting_owner(token);
begin
    if owner is null then
        outcome := 'refused';
        return next;
        return;
    end if;
    return query select * from set_member(person, new_role, owner, keep_webhooks);
end $function$;
revoke execute on function change_member(bytea,bigint,text,boolean) from public;
grant execute on function change_member(bytea,bigint,text,boolean) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.owns_file(of_tenant bigint, file text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    select file !~ '^[A-Z2-7]{26}(-[0-9]{3,4})?\.(jpg|png)$'
        or substr(file, 17, 10) = translate(
               left(encode(sha256(convert_to(of_tenant || ' ' || left(file, 16), 'UTF8')), 'hex'), 10),
               '0123456789abcdef', 'ABCDEFGHIJKLMNOP')
$function$;
revoke execute on function owns_file(bigint,text) from public;

CREATE OR REPLACE FUNCTION public.check_file_owner()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    if not owns_file(new.tenant_id, new.file)
       and not exists (select from old_media o where o.tenant_id = new.tenant_id and o.file = new.file)
       -- The files of deleted tenants, which only the migrator deletes.
       and not (new.tenant_id = 0 and pg_has_role(session_user, 'storeroom_owner', 'member')) then
        raise exception 'the file belongs to another tenant' using errcode = 'insufficient_privilege';
    end if;
    if current_setting('app.queued_media', true) is distinct from new.tenant_id::text then
        insert into tenants_with_work (tenant_id, task) values (new.tenant_id, 'claim_unused_media');
        perform set_config('app.queued_media', new.tenant_id::text, true);
    end if;
    return new;
end $function$;
revoke execute on function check_file_owner() from public;

CREATE OR REPLACE FUNCTION public.remove_sales(of_plan bigint, order_ids bigint[], refund_ids bigint[], cancellation_ids bigint[], customer_ids bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    of_tenant bigint := nullif(current_setting('app.tenant_id', true), '');
    orders_deleted integer;
    refunds_deleted integer;
    cancellations_deleted integer;
    customers_deleted integer;
begin
    if not exists (
        select from change_plans p where p.tenant_id = of_tenant and p.id = of_plan and p.state = 'undoing') then
        raise exception 'no plan % is being undone', of_plan using errcode = 'insufficient_privilege';
    end if;
    order_ids := coalesce(order_ids, '{}');
    refund_ids := coalesce(refund_ids, '{}');
    cancellation_ids := coalesce(cancellation_ids, '{}');
    customer_ids := coalesce(customer_ids, '{}');
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'orders' and f.id = any (order_ids);
    get diagnostics orders_deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'refunds' and f.id = any (refund_ids);
    get diagnostics refunds_deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'cancellations' and f.id = any (cancellation_ids);
    get diagnostics cancellations_deleted = row_count;
    delete from imported_facts f
     where f.tenant_id = of_tenant and f.plan_id = of_plan and f.kind = 'customers' and f.id = any (customer_ids);
    get diagnostics customers_deleted = row_count;
    if orders_deleted <> cardinality(order_ids)
       or refunds_deleted <> cardinality(refund_ids)
       or cancellations_deleted <> cardinality(cancellation_ids)
       or customers_deleted <> cardinality(customer_ids)
       or exists (select from refunds r
                   where r.tenant_id = of_tenant and r.order_id = any (order_ids) and r.id <> all (refund_ids))
       or exists (select from cancellations c
                   where c.tenant_id = of_tenant and c.order_id = any (order_ids)
                     and c.order_id <> all (cancellation_ids)) then
        raise exception 'plan % did not create all of the rows', of_plan using errcode = 'insufficient_privilege';
    end if;
    insert into unpacked_customers (tenant_id, day)
    select of_tenant, (o.placed_at at time zone 'UTC')::date
      from orders o
     where o.tenant_id = of_tenant and o.id = any (order_ids || cancellation_ids)
     union
    select of_tenant, (r.refunded_at at time zone 'UTC')::date
      from refunds r
     where r.tenant_id = of_tenant and r.id = any (refund_ids)
     union
    select of_tenant, (r.refunded_at at time zone 'UTC')::date
      from refunds r
     where r.tenant_id = of_tenant and r.order_id = any (cancellation_ids);
    insert into changes (tenant_id, epoch, action, types, ids)
    select of_tenant, feed_epoch(of_tenant), 'deleted', '{refund}', refund_ids::text[]
     where refund_ids <> '{}';
    insert into changes (tenant_id, epoch, action, types, changed, ids)
    select of_tenant, feed_epoch(of_tenant), 'updated', '{order}', u.changed, array_agg(o.number)
      from (
           select distinct r.order_id as id, '{items,refunded_total,refunds,updated_at}'::text[] as changed
             from refunds r
            where r.tenant_id = of_tenant and r.id = any (refund_ids)
            union
           select unnest(cancellation_ids), '{cancelled_at,status,updated_at}'
           ) u
     cross join lateral (select number from orders where tenant_id = of_tenant and id = u.id limit 1) o
     group by u.changed;
    insert into changes (tenant_id, epoch, action, types, ids)
    select of_tenant, feed_epoch(of_tenant), 'deleted', '{order}', array_agg(o.number)
      from orders o
     where o.tenant_id = of_tenant and o.id = any (order_ids)
    having count(*) > 0;
    insert into changes (tenant_id, epoch, action, types, ids)
    select of_tenant, feed_epoch(of_tenant), 'deleted', '{customer}', array_agg(c.number)
      from customers c
     where c.tenant_id = of_tenant and c.id = any (customer_ids)
    having count(*) > 0;
    perform add_to_quota(of_tenant, 0, -cardinality(refund_ids) - (
        select count(*) + coalesce(sum(o.items), 0)
          from orders o
         where o.tenant_id = of_tenant and o.id = any (order_ids)), false);
    delete from refunds r where r.tenant_id = of_tenant and r.id = any (refund_ids);
    delete from cancellations c where c.tenant_id = of_tenant and c.order_id = any (cancellation_ids);
    delete from orders o where o.tenant_id = of_tenant and o.id = any (order_ids);
    delete from customers c where c.tenant_id = of_tenant and c.id = any (customer_ids);
end $function$;
revoke execute on function remove_sales(bigint,bigint[],bigint[],bigint[],bigint[]) from public;
grant execute on function remove_sales(bigint,bigint[],bigint[],bigint[],bigint[]) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.product_block(of_tenant bigint, of_month date, of_block integer)
 RETURNS TABLE(sold_ids bytea, items bytea, units bytea, revenue bytea, cost bytea, revenue_without_cost bytea, refunds bytea, refunded_revenue bytea, refunded_revenue_without_cost bytea, units_returned bytea, returned_cost bytea)
 LANGUAGE sql
 STABLE
AS $function$
    select coalesce(string_agg(int8send(r.key), ''), ''), coalesce(string_agg(int8send(r.items), ''), ''),
           coalesce(string_agg(int8send(r.units), ''), ''), coalesce(string_agg(int8send(r.revenue), ''), ''),
           coalesce(string_agg(int8send(r.cost), ''), ''), coalesce(string_agg(int8send(r.revenue_without_cost), ''), ''),
           coalesce(string_agg(int8send(r.refunds), ''), ''),
           case when bool_or(r.refunded_revenue <> 0) then string_agg(int8send(r.refunded_revenue), '') else '' end,
           case when bool_or(r.refunded_revenue_without_cost <> 0)
                then string_agg(int8send(r.refunded_revenue_without_cost), '') else '' end,
           case when bool_or(r.units_returned <> 0) then string_agg(int8send(r.units_returned), '') else '' end,
           case when bool_or(r.returned_cost <> 0) then string_agg(int8send(r.returned_cost), '') else '' end
      from (
           select *
             from sales_rollups
            where tenant_id = of_tenant
              and kind = 4
              and day = of_month
              and channel = ''
              and key >= of_block::bigint * 16384
              and key < (of_block + 1)::bigint * 16384
            order by key
           ) r
$function$;
revoke execute on function product_block(bigint,date,integer) from public;
grant execute on function product_block(bigint,date,integer) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.set_changed_at()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
    new.changed_at := greatest(clock_timestamp(), old.changed_at + interval '1 microsecond');
    return new;
end $function$;
revoke execute on function set_changed_at() from public;

CREATE OR REPLACE FUNCTION public.image_bytes(images jsonb)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
    select coalesce(sum(octet_length(coalesce(i ->> 'url', '')) + coalesce((i ->> 'bytes')::bigint, 0)), 0)::bigint
      from jsonb_array_elements(images) i
$function$;
revoke execute on function image_bytes(jsonb) from public;
grant execute on function image_bytes(jsonb) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.product_bytes(sku text, name text, description text, bin_location text, upc text, tags text[], images jsonb)
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$
    select octet_length(sku) + octet_length(name) + coalesce(octet_length(description), 0)
           + coalesce(octet_length(bin_location), 0) + coalesce(octet_length(upc), 0)
           + octet_length(array_to_string(tags, ''))
           + case when images = '[]' then 0 else public.image_bytes(images) end
$function$;
revoke execute on function product_bytes(text,text,text,text,text,text[],jsonb) from public;
grant execute on function product_bytes(text,text,text,text,text,text[],jsonb) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.facet_bytes(value text)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
    select (octet_length(value) + 100)::bigint
$function$;
revoke execute on function facet_bytes(text) from public;
grant execute on function facet_bytes(text) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.take_slot(of_tenant bigint)
 RETURNS smallint
 LANGUAGE plpgsql
AS $function$
declare
    own constant integer := pg_backend_pid() % 64;
begin
    for i in own..own + 63 loop
        if pg_try_advisory_xact_lock(hashint8extended(of_tenant, i % 64)) then
            return i % 64;
        end if;
    end loop;
    perform pg_advisory_xact_lock(hashint8extended(of_tenant, own));
    return own;
end $function$;
revoke execute on function take_slot(bigint) from public;
grant execute on function take_slot(bigint) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.read_quota(of_tenant bigint)
 RETURNS TABLE(storage bigint, records bigint, storage_limit bigint, records_limit bigint)
 LANGUAGE sql
 STABLE
AS $function$
    select coalesce(sum(c.storage), 0)::bigint, coalesce(sum(c.records), 0)::bigint,
           max(c.storage_limit), max(c.records_limit)
      from (
           select q.storage, q.records, q.storage_limit, q.records_limit
             from public.quota_counts q
            where q.tenant_id = of_tenant
            union all
           select p.storage, p.records, null, null
             from public.product_counts p
            where p.tenant_id = of_tenant
           ) c
$function$;
revoke execute on function read_quota(bigint) from public;
grant execute on function read_quota(bigint) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.copy_quota(of_tenant bigint, more_storage bigint, more_records bigint)
 RETURNS void
 LANGUAGE sql
AS $function$
    insert into public.quota_counts as c (tenant_id, slot, storage, records, storage_limit, records_limit)
    select t.id, -1, more_storage, more_records,
           case t.plan when 'standard' then 2147483648 when 'professional' then 21474836480 else t.quota_storage end,
           case t.plan when 'standard' then 20000000 when 'professional' then 200000000 else t.quota_records end
      from public.tenants t
     where t.id = of_tenant
        on conflict (tenant_id, slot) do update
       set storage = c.storage + excluded.storage, records = c.records + excluded.records,
           storage_limit = excluded.storage_limit, records_limit = excluded.records_limit
$function$;
revoke execute on function copy_quota(bigint,bigint,bigint) from public;

CREATE OR REPLACE FUNCTION public.check_quota(of_tenant bigint, more_storage bigint, more_records bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
    quota record;
begin
    if (more_storage > 0 or more_records > 0) and current_setting('app.never_refused', true) is distinct from 'on' then
        if current_setting('app.disk_reserve', true) = 'reached' then
            raise 'only the reserve of disk space is left' using errcode = 'disk_full';
        end if;
        select * into quota from public.read_quota(of_tenant);
        if more_storage > 0 and quota.storage > quota.storage_limit then
            raise 'the quota of storage is exceeded' using errcode = 'SR006',
                detail = format('storage %s %s', quota.storage - more_storage, quota.storage_limit);
        elsif more_records > 0 and quota.records > quota.records_limit then
            raise 'the quota of records is exceeded' using errcode = 'SR006',
                detail = format('records %s %s', quota.records - more_records, quota.records_limit);
        end if;
    end if;
end $function$;
revoke execute on function check_quota(bigint,bigint,bigint) from public;
grant execute on function check_quota(bigint,bigint,bigint) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.add_to_quota(of_tenant bigint, more_storage bigint, more_records bigint, refusable boolean)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
    if more_storage <> 0 or more_records <> 0 then -- otherwise null: the statement has no rows
        insert into public.quota_counts as c (tenant_id, slot, storage, records)
        values (of_tenant, public.take_slot(of_tenant), more_storage, more_records)
            on conflict (tenant_id, slot) do update
           set storage = c.storage + excluded.storage, records = c.records + excluded.records;
        if refusable then
            perform public.check_quota(of_tenant, more_storage, more_records);
        end if;
    end if;
end $function$;
revoke execute on function add_to_quota(bigint,bigint,bigint,boolean) from public;
grant execute on function add_to_quota(bigint,bigint,bigint,boolean) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.count_quota()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
end $function$;
revoke execute on function count_quota() from public;

CREATE OR REPLACE FUNCTION public.recount_quotas(after_tenant bigint, max_rows integer)
 RETURNS TABLE(tenant bigint, changed integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    missing record;
begin
    tenant := (
        select t.id
          from (select id from tenants where recount_quotas_at <= now() and (after_tenant >= 0 or id = -after_tenant)
                 order by recount_quotas_at limit 100) t
         where pg_try_advisory_xact_lock(hashtextextended('recount_quotas of tenant ' || t.id, 0))
         limit 1);
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    select p.bytes + r.bytes + f.bytes + k.bytes + d.bytes + v.bytes - q.storage as storage,
           p.count + o.count + u.count + a.count - q.records as records
      into missing
      from read_quota(tenant) q
     cross join (
           select count(*) as count,
                  coalesce(sum(product_bytes(sku, name, description, bin_location, upc, tags, images)), 0)::bigint as bytes
             from products where tenant_id = tenant) p
     cross join (
           select count(*) + coalesce(sum(items), 0) as count from orders where tenant_id = tenant) o
     cross join (select count(*) as count from refunds where tenant_id = tenant) u
     cross join (select count(*) as count from inventory_adjustments where tenant_id = tenant) a
     cross join (
           select coalesce(sum(octet_length(rows) + coalesce(octet_length(result), 0)), 0) as bytes
             from change_plan_parts where tenant_id = tenant) r
     cross join (
           select coalesce(sum(octet_length(bytes)), 0) as bytes from change_plan_files where tenant_id = tenant) f
     cross join (
           select coalesce(sum(octet_length(body)), 0) as bytes from idempotency_keys where tenant_id = tenant) k
     cross join (
           select coalesce(sum(octet_length(response) + coalesce(octet_length(error), 0)), 0)::bigint as bytes
             from webhook_deliveries where tenant_id = tenant) d
     cross join (
           select coalesce(sum(facet_bytes(value)), 0)::bigint as bytes from facet_counts where tenant_id = tenant) v;
    -- Rows of a value that no product has any more have the sum 0, so that to delete them changes no count.
    with unused as (
         select c.facet, c.value, c.status from facet_counts c where c.tenant_id = tenant group by 1, 2, 3 having sum(c.count) = 0
    ), locked as materialized (
         select c.facet, c.value, c.status, c.slot, c.count
           from facet_counts c
           join unused u on u.facet = c.facet and u.value = c.value and u.status = c.status
          where c.tenant_id = tenant
            for update of c skip locked
    ), deleted as (
         delete from facet_counts c
          using locked l
          where c.tenant_id = tenant and c.facet = l.facet and c.value = l.value and c.status = l.status and c.slot = l.slot
            and (l.facet, l.value, l.status) in (
                select facet, value, status from locked group by 1, 2, 3 having sum(count) = 0)
         returning c.value
    )
    select missing.storage - coalesce(sum(facet_bytes(d.value)), 0)::bigint into missing.storage from deleted d;
    update tenants t set recount_quotas_at = now() + interval '24 hours' where t.id = tenant;
    if found then -- the tenant may have been deleted
        perform copy_quota(tenant, missing.storage, missing.records);
    end if;
    perform set_config('app.tenant_id', before, true);
    changed := 1;
    return next;
end $function$;
revoke execute on function recount_quotas(bigint,integer) from public;
grant execute on function recount_quotas(bigint,integer) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.next_unfilled_tenant(after_tenant bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
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
            delete from tenants_with_work w
             where w.task = 'fill_texts' and w.tenant_id = tenant and w.worker is null
        )
        insert into tenants_with_work (tenant_id, task)
        select tenant, 'fill_texts'
         where exists (select from unfilled_texts u where u.tenant_id = tenant);
        is_unfilled := found;
        exit when is_unfilled;
    end loop;
    perform set_config('app.tenant_id', before, true);
    return tenant;
end $function$;
revoke execute on function next_unfilled_tenant(bigint) from public;
grant execute on function next_unfilled_tenant(bigint) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.find_products(patterns text[], earlier_patterns text[], narrow jsonb, sort text, descending boolean, page_limit bigint, page_offset bigint)
 RETURNS TABLE(ids bigint[], total bigint)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
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
end $function$;
alter function find_products(text[],text[],jsonb,text,boolean,bigint,bigint) owner to storeroom_search;
revoke execute on function find_products(text[],text[],jsonb,text,boolean,bigint,bigint) from public;
grant execute on function find_products(text[],text[],jsonb,text,boolean,bigint,bigint) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.find_customers(patterns text[], earlier_patterns text[])
 RETURNS bigint[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
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
end $function$;
alter function find_customers(text[],text[]) owner to storeroom_search;
revoke execute on function find_customers(text[],text[]) from public;
grant execute on function find_customers(text[],text[]) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.find_orders(pattern text, max_rows integer)
 RETURNS bigint[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    ids bigint[];
begin
    execute format($q$
        with found as materialized ( -- planned without the limit
        select o.id from public.orders o where o.tenant_id = $1 and o.number like %L
        )
        select array(select f.id from found f limit $2)$q$, pattern)
       into ids
      using nullif(current_setting('app.tenant_id', true), '')::bigint, max_rows + 1;
    return case when cardinality(ids) <= max_rows then ids end;
end $function$;
alter function find_orders(text,integer) owner to storeroom_search;
revoke execute on function find_orders(text,integer) from public;
grant execute on function find_orders(text,integer) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.claim_work(of_task text, by_worker uuid, seconds double precision, delay double precision)
 RETURNS TABLE(tenant bigint, attempts integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
 SET enable_sort TO 'off'
AS $function$
declare
    is_due constant text := case of_task
        when 'change_plans' then 't.due_change_plans > 0 and t.suspended_at is null'
        when 'delete_expired_change_plans' then 't.delete_plans_at <= now()'
        when 'delete_expired_responses' then 't.delete_responses_at <= now()'
        when 'recount_quotas' then 't.recount_quotas_at <= now()'
    end;
    due_before constant timestamptz := clock_timestamp() - make_interval(secs => delay); -- an index compares with it
    passed bigint[] := '{}';
begin
    if is_due is not null then -- no statement queues these
        execute format($query$
            insert into tenants_with_work (tenant_id, task)
            select t.id, %L
              from tenants t
             where %s
               and not exists (select from tenants_with_work w where w.task = %1$L and w.tenant_id = t.id)
             limit 100$query$, of_task, is_due);
    elsif of_task = 'webhooks' and pg_try_advisory_xact_lock(hashtextextended('due_webhooks', 0)) then
        with taken as ( -- the queue of the previous release; transactions that began before migrate still write it
            delete from due_webhooks d
             where d.tenant_id in (select q.tenant_id from due_webhooks q order by q.at limit 1000)
         returning d.tenant_id, d.at
        )
        insert into tenants_with_work (tenant_id, task, due)
        select t.tenant_id, of_task, min(t.at) from taken t group by t.tenant_id;
    end if;
    for tenant in
        select w.tenant_id from tenants_with_work w where w.task = of_task and w.due <= due_before order by w.due
    loop
        continue when tenant = any (passed);
        passed := passed || tenant;
        continue when not pg_try_advisory_xact_lock(
            hashtextextended(of_task || ' in the queue of tenant ' || tenant, 0));
        continue when has_worker(of_task, tenant);
        if of_task in ('change_plans', 'webhooks') and exists (
            select from tenants t where t.id = tenant and t.suspended_at is not null)
        then
            delete from tenants_with_work w where w.task = of_task and w.tenant_id = tenant;
            insert into tenants_with_work values (tenant, of_task, clock_timestamp() + interval '1 minute');
            continue;
        end if;
        with claimed as (
            delete from tenants_with_work w where w.task = of_task and w.tenant_id = tenant returning w.attempts
        )
        insert into tenants_with_work as i (tenant_id, task, due, worker, attempts)
        select tenant, of_task, clock_timestamp() + make_interval(secs => seconds), by_worker, max(c.attempts)
          from claimed c
        having count(*) > 0
     returning i.attempts into attempts;
        if attempts is not null then
            return next;
            exit;
        end if;
    end loop;
end $function$;
revoke execute on function claim_work(text,uuid,double precision,double precision) from public;
grant execute on function claim_work(text,uuid,double precision,double precision) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.due_media(of_tenant bigint, max_rows integer)
 RETURNS TABLE(file text, due timestamptz)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    perform set_config('app.tenant_id', of_tenant::text, true);
    return query
        select u.file, u.due from unused_media u where u.tenant_id = of_tenant order by u.due limit max_rows;
    perform set_config('app.tenant_id', before, true);
end $function$;
revoke execute on function due_media(bigint,integer) from public;
grant execute on function due_media(bigint,integer) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.find_key(hashes bytea[])
 RETURNS TABLE(hash bytea, tenant_id bigint, key_id bigint, key_name text, permissions text[], expires_at timestamptz, slug text, tenant_name text, plan text, rate_limit integer, timezone text, currency text, suspended boolean, origins text[])
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    h      key_hashes;
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    select * into h from key_hashes k where k.hash = any (hashes) limit 1;
    if not found then
        return;
    end if;
    perform set_config('app.tenant_id', h.tenant_id::text, true);
    return query
        select h.hash, k.tenant_id, k.id, k.name, k.permissions, k.expires_at,
               t.slug, t.name, t.plan, t.rate_limit, t.timezone, t.currency, t.suspended_at is not null, t.origins
          from api_keys k
          join tenants t on t.id = k.tenant_id
         where k.tenant_id = h.tenant_id and k.id = h.key_id
           and k.revoked_at is null
           and (k.expires_at is null or k.expires_at > now());
    perform set_config('app.tenant_id', before, true);
end $function$;
revoke execute on function find_key(bytea[]) from public;
grant execute on function find_key(bytea[]) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.has_changes_after(of_tenant bigint, cursor text)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    encoded constant bytea := decode(rpad(translate(cursor, '-_', '+/'), (length(cursor) + 3) / 4 * 4, '='), 'base64');
    numbers bigint[] := '{0}'; -- tenant, epoch, transaction, number of the change, and others
    shift integer := 0;
begin
    for i in 0..length(encoded) - 1 loop
        numbers[cardinality(numbers)] := numbers[cardinality(numbers)]
            | ((get_byte(encoded, i) & 127)::bigint << shift);
        shift := shift + 7;
        if get_byte(encoded, i) < 128 then
            numbers := numbers || 0::bigint;
            shift := 0;
        end if;
    end loop;
    return exists (
        select from changes c
         where c.tenant_id = of_tenant
           and (c.epoch, c.xid, c.seq) > (coalesce(numbers[2], 0), coalesce(numbers[3], 0), coalesce(numbers[4], 0)));
end $function$;
revoke execute on function has_changes_after(bigint,text) from public;

CREATE OR REPLACE FUNCTION public.has_worker(of_task text, of_tenant bigint)
 RETURNS boolean
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    select exists (
        select from tenants_with_work w
         where w.task = of_task and w.tenant_id = of_tenant and w.due > clock_timestamp()
           and (w.worker is not null or w.attempts > 0));
$function$;
revoke execute on function has_worker(text,bigint) from public;

CREATE OR REPLACE FUNCTION public.mark_days()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
    insert into public.unpacked_sums (tenant_id, month, block) select n.tenant_id, n.day, -2 from new_rows n;
    return null;
end $function$;
revoke execute on function mark_days() from public;

CREATE OR REPLACE FUNCTION public.move_work(of_task text, of_tenant bigint, by_worker uuid, to_state text, seconds double precision)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
    if to_state = 'done' then
        delete from tenants_with_work w where w.task = of_task and w.tenant_id = of_tenant and w.worker = by_worker;
    else
        update tenants_with_work w
           set due = clock_timestamp() + make_interval(secs => seconds),
               worker = case to_state when 'leased' then by_worker end,
               attempts = case to_state when 'leased' then w.attempts when 'failed' then w.attempts + 1 else 0 end
         where w.task = of_task and w.tenant_id = of_tenant and w.worker = by_worker;
    end if;
    return found;
end $function$;
revoke execute on function move_work(text,bigint,uuid,text,double precision) from public;
grant execute on function move_work(text,bigint,uuid,text,double precision) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.pack_sums(after_tenant bigint, max_rows integer, few integer DEFAULT 100)
 RETURNS TABLE(tenant bigint, changed integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
    retry interval := '0';
    mark record;
begin
    changed := 0;
    tenant := after_tenant;
    for visits in 1..case when after_tenant < 0 then 1 else 100 end loop
        tenant := case when after_tenant < 0 then -after_tenant else next_tenant_with_work('pack_sums', tenant) end;
        exit when tenant is null;
        perform set_config('app.tenant_id', tenant::text, true);
        delete from tenants_with_work w
         where w.task = 'pack_sums'
           and w.tenant_id = tenant
           and w.worker is null
           and not exists (select from unpacked_sums u where u.tenant_id = tenant and not u.is_kept);
        continue when found;
        if after_tenant < 0 then
            perform pg_advisory_xact_lock(hashtextextended('packed sums of tenant ' || tenant, 0));
        end if;
        continue when not pg_try_advisory_xact_lock(hashtextextended('packed sums of tenant ' || tenant, 0));
        for mark in
            select distinct u.month, u.block
              from unpacked_sums u
             where u.tenant_id = tenant and not u.is_kept
        loop
            exit when changed = max_rows;
            begin
                case mark.block
                when -2 then
                    delete from packed_customers p where p.tenant_id = tenant and p.day = mark.month;
                    with unmarked as (
                        delete from unpacked_sums u
                         where u.tenant_id = tenant and u.month = mark.month and u.block = mark.block
                    ), of_previous_release as (
                        delete from unpacked_customers u where u.tenant_id = tenant and u.day = mark.month
                    )
                    insert into packed_customers
                           (tenant_id, day, customer_ids, revenue, placed_at, refunded_ids, refunds, guests)
                    select tenant, mark.month, s.*
                      from customer_sales(tenant, mark.month::timestamp at time zone 'UTC',
                                          (mark.month + 1)::timestamp at time zone 'UTC') s;
                when -1 then
                    delete from monthly_sums m where m.tenant_id = tenant and m.kind in (2, 3) and m.month = mark.month;
                    with unmarked as (
                        delete from unpacked_sums u
                         where u.tenant_id = tenant and u.month = mark.month and u.block = mark.block
                    ), few_sums as materialized (
                        select count(*) between 1 and few - 1 as is_true
                          from (
                               select from sales_rollups r
                                where r.tenant_id = tenant and r.kind in (2, 3)
                                  and r.day >= mark.month and r.day < (mark.month + interval '1 month')::date
                                limit few
                               ) r
                    ), kept as (
                        insert into unpacked_sums (tenant_id, month, block, is_kept)
                        select tenant, mark.month, mark.block, true from few_sums where is_true
                    )
                    insert into monthly_sums
                           (tenant_id, kind, month, key, orders, items, units, units_without_cost, revenue, discounts,
                            tax, cost, refund_count, refunds, shipping, revenue_without_cost, refunded_revenue,
                            refunded_revenue_without_cost, units_returned, returned_cost)
                    select tenant, r.kind, mark.month, r.key, sum(r.orders), sum(r.items), sum(r.units),
                           sum(r.units_without_cost), sum(r.revenue), sum(r.discounts), sum(r.tax), sum(r.cost),
                           sum(r.refund_count), sum(r.refunds), sum(r.shipping), sum(r.revenue_without_cost),
                           sum(r.refunded_revenue), sum(r.refunded_revenue_without_cost), sum(r.units_returned),
                           sum(r.returned_cost)
                      from sales_rollups r
                     where r.tenant_id = tenant
                       and r.kind in (2, 3)
                       and r.day >= mark.month
                       and r.day < (mark.month + interval '1 month')::date
                       and not (select is_true from few_sums)
                     group by r.kind, r.key;
                else
                    delete from packed_sums p
                     where p.tenant_id = tenant and p.month = mark.month and p.block = mark.block;
                    with unmarked as (
                        delete from unpacked_sums u
                         where u.tenant_id = tenant and u.month = mark.month and u.block = mark.block
                    ), sums as materialized (
                        select * from product_block(tenant, mark.month, mark.block)
                    ), kept as (
                        insert into unpacked_sums (tenant_id, month, block, is_kept)
                        select tenant, mark.month, mark.block, true
                          from sums s
                         where length(s.sold_ids) between 8 and 8 * (few - 1)
                    )
                    insert into packed_sums
                           (tenant_id, month, block, sold_ids, items, units, revenue, cost, revenue_without_cost,
                            refunds, refunded_revenue, refunded_revenue_without_cost, units_returned, returned_cost)
                    select tenant, mark.month, mark.block, s.* from sums s where length(s.sold_ids) >= 8 * greatest(few, 1);
                end case;
                changed := changed + 1;
            exception when numeric_value_out_of_range then
                retry := interval '5 minutes'; -- The mark stays, and reports of the period fail with the same error.
            end;
        end loop;
        with seen as (
            delete from tenants_with_work w
             where w.task = 'pack_sums' and w.tenant_id = tenant and w.worker is null
        )
        insert into tenants_with_work (tenant_id, task, due)
        select tenant, 'pack_sums', now() + case when changed = max_rows then interval '0' else retry end
         where exists (select from unpacked_sums u where u.tenant_id = tenant and not u.is_kept);
        exit when changed > 0;
    end loop;
    perform set_config('app.tenant_id', before, true);
    if tenant is not null then
        return next;
    end if;
end $function$;
revoke execute on function pack_sums(bigint,integer,integer) from public;
grant execute on function pack_sums(bigint,integer,integer) to storeroom_runtime;

CREATE OR REPLACE FUNCTION public.products_deleted()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
    backend_slot smallint;
    files record;
begin
    select public.take_slot(o.tenant_id) into backend_slot from old_rows o limit 1;
    with facets as (
         insert into public.facet_counts as c (tenant_id, facet, value, status, slot, count)
         select o.tenant_id, f.facet, f.value, o.status, backend_slot, -count(*)
           from old_rows o
          cross join lateral public.facets(o.category_id, o.seller_id, o.warehouse_id, o.tags) f
          group by 1, 2, 3, 4
         on conflict (tenant_id, facet, value, status, slot) do update
            set count = c.count + excluded.count, is_stored = true
         returning value, not is_stored as is_new
    )
    insert into public.product_counts as c (tenant_id, slot, status, count, storage, records)
    select o.tenant_id, backend_slot, o.status, -count(*),
           case when row_number() over () = 1
                then coalesce((select sum(public.facet_bytes(value)) from facets where is_new), 0)::bigint
                else 0 end
           - sum(public.product_bytes(o.sku, o.name, o.description, o.bin_location, o.upc, o.tags, o.images))::bigint,
           -count(*)
      from old_rows o
     group by 1, 3
    on conflict (tenant_id, slot, status) do update
       set count = c.count + excluded.count, storage = c.storage + excluded.storage,
           records = c.records + excluded.records;
    if exists (select from old_rows o where o.images <> '[]') then
        insert into public.unused_media (tenant_id, due, file)
        select distinct o.tenant_id, now(), i ->> 'file'
          from old_rows o
         cross join lateral jsonb_array_elements(o.images) i
         where i ? 'file';
        select min(o.tenant_id) as tenant, coalesce(sum((i ->> 'bytes')::bigint), 0) as bytes
          into files
          from old_rows o
         cross join lateral jsonb_array_elements(o.images) i;
        update public.media_totals t set bytes = t.bytes - files.bytes where t.tenant_id = files.tenant;
    end if;
    insert into public.changes (tenant_id, epoch, action, types, ids)
    select o.tenant_id, public.feed_epoch(o.tenant_id), 'deleted', '{product,stock}', array_agg(o.id::text)
      from old_rows o
     group by o.tenant_id;
    return null;
end $function$;
revoke execute on function products_deleted() from public;

CREATE OR REPLACE FUNCTION public.products_inserted()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
    backend_slot smallint;
    total record;
begin
    select public.take_slot(n.tenant_id) into backend_slot from new_rows n limit 1;
    with facets as (
         insert into public.facet_counts as c (tenant_id, facet, value, status, slot, count)
         select n.tenant_id, f.facet, f.value, n.status, backend_slot, count(*)
           from new_rows n
          cross join lateral public.facets(n.category_id, n.seller_id, n.warehouse_id, n.tags) f
          group by 1, 2, 3, 4
         on conflict (tenant_id, facet, value, status, slot) do update
            set count = c.count + excluded.count, is_stored = true
         returning value, not is_stored as is_new
    ), added as materialized (
         select n.tenant_id, n.status, count(*) as count,
                count(*) + case when current_setting('app.counted', true) = statement_timestamp()::text
                                then count(*) filter (where n.quantity > 0) else 0 end as records,
                sum(public.product_bytes(
                    n.sku, n.name, n.description, n.bin_location, n.upc, n.tags, n.images))::bigint
                + case when row_number() over () = 1
                       then coalesce((select sum(public.facet_bytes(value)) from facets where is_new), 0)::bigint
                       else 0 end as storage
           from new_rows n
          group by 1, 2
    ), counted as (
         insert into public.product_counts as c (tenant_id, slot, status, count, storage, records)
         select a.tenant_id, backend_slot, a.status, a.count, a.storage, a.records from added a
         on conflict (tenant_id, slot, status) do update
            set count = c.count + excluded.count, storage = c.storage + excluded.storage,
                records = c.records + excluded.records
    ), tagged as (
         insert into public.product_tags (tenant_id, tag, created_at, product_id, status, name, sku, price)
         select n.tenant_id, unnest(n.tags), n.created_at, n.id, n.status, n.name, n.sku, n.price from new_rows n
    ), listed as (
         insert into public.low_products (tenant_id, product_id, quantity)
         select n.tenant_id, n.id, n.quantity from new_rows n where n.quantity <= n.reorder_point
    )
    select min(a.tenant_id) as tenant, sum(a.storage)::bigint as storage, sum(a.records)::bigint as records
      into total
      from added a;
    perform public.check_quota(total.tenant, total.storage, total.records);
    if current_setting('app.recorded', true) is distinct from statement_timestamp()::text then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select n.tenant_id, public.feed_epoch(n.tenant_id), 'created', '{product,stock}', array_agg(n.id::text)
          from new_rows n
         group by n.tenant_id;
    end if;
    if current_setting('app.text_version', true) is distinct from '1' then
        insert into public.unfilled_texts (tenant_id, kind, first_id, last_id)
        select n.tenant_id, 'product', min(n.id), max(n.id) from new_rows n group by n.tenant_id;
    end if;
    return null;
end $function$;
revoke execute on function products_inserted() from public;

CREATE OR REPLACE FUNCTION public.products_updated()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
    backend_slot smallint;
    growth bigint;
    facet_storage bigint;
    added text[];
    found_files bigint;
begin
    if old.status <> new.status or old.category_id is distinct from new.category_id
       or old.seller_id is distinct from new.seller_id or old.warehouse_id <> new.warehouse_id or old.tags <> new.tags
    then
        backend_slot := public.take_slot(new.tenant_id);
        if old.status <> new.status then
            insert into public.product_counts as c (tenant_id, slot, status, count)
            values (new.tenant_id, backend_slot, old.status, -1), (new.tenant_id, backend_slot, new.status, 1)
            on conflict (tenant_id, slot, status) do update set count = c.count + excluded.count;
        end if;
        with facets as (
             insert into public.facet_counts as c (tenant_id, facet, value, status, slot, count)
             select new.tenant_id, f.facet, f.value, f.status, backend_slot, sum(f.count)
               from (
                    select facet, value, old.status as status, -1 as count
                      from public.facets(old.category_id, old.seller_id, old.warehouse_id, old.tags)
                     union all
                    select facet, value, new.status, 1
                      from public.facets(new.category_id, new.seller_id, new.warehouse_id, new.tags)
                    ) f
              group by 2, 3, 4
             having sum(f.count) <> 0
             on conflict (tenant_id, facet, value, status, slot) do update
                set count = c.count + excluded.count, is_stored = true
             returning value, not is_stored as is_new
        )
        select sum(public.facet_bytes(value)) into facet_storage from facets where is_new;
        perform public.add_to_quota(new.tenant_id, facet_storage, 0, true);
    end if;
    if old.tags <> new.tags then
        delete from public.product_tags
         where tenant_id = new.tenant_id and product_id = new.id and tag <> all (new.tags);
        insert into public.product_tags (tenant_id, tag, created_at, product_id, status, name, sku, price)
        select new.tenant_id, unnest(new.tags), new.created_at, new.id, new.status, new.name, new.sku, new.price
        on conflict (tenant_id, tag, product_id) do update
           set status = excluded.status, name = excluded.name, sku = excluded.sku, price = excluded.price;
    elsif new.tags <> '{}' and (old.status, old.name, old.sku, old.price)
                               is distinct from (new.status, new.name, new.sku, new.price) then
        update public.product_tags
           set status = new.status, name = new.name, sku = new.sku, price = new.price
         where tenant_id = new.tenant_id and product_id = new.id;
    end if;
    -- record_products counts the bytes of statements that do not record their change.
    if current_setting('app.recorded', true) = statement_timestamp()::text then
        growth := public.product_bytes(new.sku, new.name, new.description, new.bin_location, new.upc, new.tags, new.images)
                  - public.product_bytes(old.sku, old.name, old.description, old.bin_location, old.upc, old.tags, old.images);
        perform public.add_to_quota(new.tenant_id, growth, 0, growth > 0);
    end if;
    if old.images <> new.images then
        insert into public.unused_media (tenant_id, due, file)
        select new.tenant_id, now(), i ->> 'file' from jsonb_array_elements(old.images) i where i ? 'file'
        except
        select new.tenant_id, now(), i ->> 'file' from jsonb_array_elements(new.images) i;
        added := array(
            select i ->> 'file' from jsonb_array_elements(new.images) i where i ? 'file'
            except
            select i ->> 'file' from jsonb_array_elements(old.images) i);
        if added <> '{}' then
            with used as (
                delete from public.unused_media where tenant_id = new.tenant_id and file = any (added) returning file
            )
            select count(*) into found_files from used;
            if found_files <> cardinality(added) then
                raise exception 'an image has a file that is not reserved';
            end if;
        end if;
        growth := (select coalesce(sum((i ->> 'bytes')::bigint), 0) from jsonb_array_elements(new.images) i)
                  - (select coalesce(sum((i ->> 'bytes')::bigint), 0) from jsonb_array_elements(old.images) i);
        if growth > 0 then
            insert into public.media_totals as t (tenant_id, bytes)
            values (new.tenant_id, growth)
                on conflict (tenant_id) do update
               set bytes = t.bytes + excluded.bytes;
        elsif growth < 0 then
            update public.media_totals t set bytes = t.bytes + growth where t.tenant_id = new.tenant_id;
        end if;
    end if;
    if current_setting('app.text_version', true) is distinct from '1' and (old.name, old.sku, old.upc)
                                                                       is distinct from (new.name, new.sku, new.upc) then
        delete from public.product_texts t where t.tenant_id = new.tenant_id and t.product_id = new.id;
        insert into public.unfilled_texts (tenant_id, kind, first_id, last_id)
        values (new.tenant_id, 'product', new.id, new.id);
    end if;
    return null;
end $function$;
revoke execute on function products_updated() from public;

CREATE OR REPLACE FUNCTION public.schema_functions()
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
    select coalesce((select functions from schema_migrations order by version desc limit 1), '')
$function$;
revoke execute on function schema_functions() from public;
grant execute on function schema_functions() to storeroom_runtime;
