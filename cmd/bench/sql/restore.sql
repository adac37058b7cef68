-- Deletes the rows of earlier runs, including keys, so that each run starts with the same rows.
-- Foreign keys of orders are not checked row by row.

delete from inventory_adjustments where id > (select adjustment from bench.generated);

delete from products where id > (select product from bench.generated);

delete from bare.inventory_adjustments where id > (select adjustment from bench.generated);

delete from bare.stock where product_id > (select product from bench.generated);

delete from bare.product_tags where product_id > (select product from bench.generated);

delete from bare.products where id > (select product from bench.generated);

delete from idempotency_keys;

delete from api_keys;

delete from unfilled_texts;

set session_replication_role = replica;

with deleted as (
	delete from orders where id > (select "order" from bench.generated) returning tenant_id, id
)
delete from order_items i using deleted
 where i.tenant_id = deleted.tenant_id and i.order_id = deleted.id;

delete from customer_texts where customer_id > (select customer from bench.generated);

delete from customers where id > (select customer from bench.generated);

delete from sold_products where id > (select sold from bench.generated);

delete from sales_rollups where day >= '2026-01-01';

delete from packed_sums where month >= '2026-01-01';

delete from monthly_sums where month >= '2026-01-01';

delete from unpacked_sums where month >= '2026-01-01';

delete from packed_customers where day >= '2026-01-01';

delete from unpacked_customers where day >= '2026-01-01';

set session_replication_role = origin;

vacuum products, product_tags, low_products, stock, inventory_adjustments, product_counts, facet_counts,
       idempotency_keys, api_keys, orders, order_items, customers, sold_products, sales_rollups, packed_sums,
       monthly_sums, unpacked_sums, packed_customers, unpacked_customers, bare.products, bare.product_tags, bare.stock,
       bare.inventory_adjustments;
