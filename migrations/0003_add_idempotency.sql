-- Answers of requests that carried an Idempotency-Key, and the index that a poll
-- for changes needs.

create table idempotency_keys (
    tenant_id   bigint not null references tenants (id) on delete cascade,
    key         text collate "C" not null check (length(key) between 1 and 255),
    fingerprint bytea not null check (octet_length(fingerprint) = 32),
    created_at  timestamptz not null default now(),
    status      smallint,
    header      jsonb,
    body        bytea,
    primary key (tenant_id, key)
);
comment on table idempotency_keys is 'What a request with an Idempotency-Key was answered, written in the transaction of its work and kept for 24 hours. A row without a status is in work, and nobody but its own transaction sees it.';
create index idempotency_keys_created on idempotency_keys (tenant_id, created_at);

alter table idempotency_keys enable row level security;
alter table idempotency_keys force row level security;
create policy tenant on idempotency_keys
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, update, delete on idempotency_keys to storeroom_runtime;

-- updated_at is in no index, so that a change of stock touches none. A poll for
-- changes finds those in the ledger, and all others by changed_at.
alter table products add column changed_at timestamptz not null default now();
comment on column products.changed_at is 'When anything but stock last changed.';
create index products_changed on products (tenant_id, changed_at, id);
create index inventory_adjustments_created on inventory_adjustments (tenant_id, created_at, product_id);
