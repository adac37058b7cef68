-- Products sorted by SKU come off the index alone: without the id in it the planner
-- would rather sort a tenant whole than fetch row by row.
alter table products drop constraint products_tenant_id_sku_key;
alter table products add constraint products_tenant_id_sku_key unique (tenant_id, sku) include (id);
