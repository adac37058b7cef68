-- The key of product_tags that also finds the tags of a product. 0022 makes it the primary key.

-- Writers lock products before product_tags, so this does too.
lock table products in share row exclusive mode;

create unique index product_tags_key on product_tags (tenant_id, product_id, tag);
