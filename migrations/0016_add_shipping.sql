-- Shipping is not part of revenue. Profit and margin cover only items with a known cost, so the
-- revenue of all others is a sum too. The next migration fills it for existing orders.

alter table orders
    add shipping bigint not null default 0 check (shipping >= 0),
    add revenue_without_cost bigint not null default 0 check (revenue_without_cost between 0 and revenue);
alter table order_items add shipping bigint not null default 0 check (shipping >= 0);
alter table sales_rollups
    add shipping bigint not null default 0,
    add revenue_without_cost bigint not null default 0;

comment on table orders is 'Orders with the sums of their items. revenue is after discounts and without tax and shipping; revenue_without_cost is the part of items without unit_cost. content is the SHA-256 of what was sent.';
comment on table order_items is 'Lines of orders. discount, tax and shipping are the line''s shares of the order''s; placed_at is the order''s. Revenue is quantity * unit_price - discount.';
