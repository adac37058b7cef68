-- Reports of a category read only its products, and the last name of a deleted category or
-- seller takes one lookup.
create index sold_products_category on sold_products (tenant_id, category_id, id);
create index sold_products_seller on sold_products (tenant_id, seller_id, id);
