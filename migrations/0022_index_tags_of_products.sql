-- The key of product_tags that also finds the tags of a product. 0023 makes it the primary key.

-- Writers lock products before product_tags, so this does too.
lock table products in share row exclusive mode;

create unique index product_tags_key on product_tags (tenant_id, product_id, tag);

-- The overview reads the products at their reorder point. Most products of most shops have none.
create index products_reorder on products (tenant_id, id) where reorder_point is not null;
