-- Comments of the schema in plain words. Nothing else changes.

comment on table tenants is
    'Businesses that use the service. The runtime role has no privilege; it reads a tenant with resolve_key.';
comment on table users is
    'People. An e-mail address has one account in the whole service. The runtime role has no privilege.';
comment on table memberships is
    'The roles of people in tenants. The runtime role has no privilege; it reads them with functions.';
comment on table api_keys is
    'API keys as the settings pages show them. No table stores the secret; key_hashes stores its hash.';
comment on column api_keys.request is
    'Identifies the form that created the key. If the form is sent again, it creates no second key.';
comment on table key_hashes is
    'HMAC-SHA-256 hashes of API keys. The pepper is not in the database. A hash is looked up before the '
    'tenant is known, so the table has no policy, and the runtime role has no privilege.';

comment on table sellers is 'Sellers or manufacturers of products.';
comment on table warehouses is
    'Places that store stock. Each tenant has one default warehouse, for products that are created without one.';
comment on table products is
    'Products. Prices are in cents. quantity is the sum of the stock in all warehouses. search is a blank, '
    'then name, SKU and UPC in lower case, with single blanks between words.';
comment on column products.images is 'JSON array of {id, url, position}. No endpoint writes it.';
comment on column products.changed_at is 'When the product last changed. Changes of stock do not count.';
comment on table product_tags is
    'Tags of products, for filters. created_at is that of the product, so that an index returns the '
    'products of a tag in the default order.';
comment on table stock is 'Quantity of a product in a warehouse. products.quantity is the sum.';
comment on table inventory_adjustments is
    'The ledger: one row for each change of stock, which never changes. Rows outlive the product and the '
    'warehouse, so they have no foreign key to them. quantity_before and quantity_after are totals of the product.';
comment on table product_counts is
    'Number of products of a tenant by status: the sum of all slots. A backend writes the slot of its pid, '
    'so that concurrent writers do not wait for each other. Lists read it instead of counting products.';

comment on table idempotency_keys is
    'Responses to requests with an Idempotency-Key, written in the transaction of the request. They expire '
    'after 24 hours. A row without a status belongs to a request that is still running; other transactions '
    'do not see it.';

comment on table channels is 'Sales channels. Every tenant has the channel pos.';
comment on table sales_zones is
    'Time zone of the days in the tenant''s rollups. A rebuild of the rollups sets it to tenants.timezone.';
comment on table customers is
    'Customers. number is the id that the sender of the orders uses. An erased customer has no name and no e-mail.';
comment on table sold_products is
    'Products as they were sold. A product that changed since its last sale gets a new row. Rows outlive the '
    'product, so they have no foreign key to it. product_id is null if the catalog did not have the SKU. '
    'Two transactions may insert the same row; reports group by product, so nothing counts twice.';
comment on table orders is
    'Orders with the sums of their items. revenue is after discounts and without tax. content is the SHA-256 '
    'of the order as sent; it shows whether an order that is sent again is the same.';
comment on table order_items is
    'Items of orders. discount and tax are the item''s shares of those of the order. placed_at is that of the '
    'order. Revenue is quantity * unit_price - discount.';
comment on table cancellations is
    'Cancelled orders. Reports count neither them nor their refunds. placed_at is that of the order.';
comment on table refunds is
    'Refunds of orders. A refund counts on the day of refunded_at. It may be more than the customer paid.';
comment on table refund_items is 'Shares of a refund by item of the order.';
comment on table sales_rollups is
    'Sums of orders and refunds by day in the tenant''s time zone. kind: 1 by day and channel; 2 by day, '
    'channel and category; 3 by day, channel and seller; 4 by month and product as sold, where day is the '
    'first of the month. key: 0 for kind 1; the category or seller, or 0 for none; sold_products.id for kind 4.';

comment on table sessions is
    'Sessions of people, by the SHA-256 of the cookie. A session ends 30 minutes after seen_at and 12 hours '
    'after created_at. confirmed_at is when the person last entered the password. The runtime role has no privilege.';
comment on table one_time_links is
    'Invitations and password resets, by the SHA-256 of the token in the link. A link without a tenant is a '
    'reset by the operator. made_by is null for the operator. A link that was used, replaced or revoked has '
    'expires_at 1970-01-01 and stays for a day, so that its form, sent again, creates no second link. The '
    'runtime role has no privilege.';
comment on table audit_log is
    'Changes of keys, members, plan and settings: actor, action, target and address. A row is written in the '
    'transaction of the change and never changes. actor is an e-mail address, or operator for a command.';
