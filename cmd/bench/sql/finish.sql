-- Computes the rollups and counters of all tenants, and creates the indexes.

analyze;

-- lines contains items by the day of their order, and their refunds by the day of the refund.
create temp table lines as
select i.tenant_id, (i.placed_at at time zone 'UTC')::date as day, o.channel,
       coalesce(s.category_id, 0) as category_id, coalesce(s.seller_id, 0) as seller_id,
       i.sold_id, i.order_id, null::bigint as refund_id, 1 as items, i.quantity as units,
       case when i.unit_cost is null then i.quantity else 0 end as units_without_cost,
       i.quantity * i.unit_price - i.discount as revenue,
       i.discount, i.tax, i.quantity * coalesce(i.unit_cost, 0) as cost, 0::bigint as refunds
  from order_items i
  join orders o on o.tenant_id = i.tenant_id and o.id = i.order_id
  join sold_products s on s.tenant_id = i.tenant_id and s.id = i.sold_id
  left join cancellations c on c.tenant_id = i.tenant_id and c.order_id = i.order_id
 where c.order_id is null
union all
select i.tenant_id, (r.refunded_at at time zone 'UTC')::date, o.channel, coalesce(s.category_id, 0),
       coalesce(s.seller_id, 0), i.sold_id, null, r.id, 0, 0, 0, 0, 0, 0, 0, part.amount
  from refund_items part
  join refunds r on r.tenant_id = part.tenant_id and r.id = part.refund_id
  join order_items i on i.tenant_id = part.tenant_id and i.order_id = part.order_id and i.line = part.line
  join orders o on o.tenant_id = i.tenant_id and o.id = i.order_id
  join sold_products s on s.tenant_id = i.tenant_id and s.id = i.sold_id
  left join cancellations c on c.tenant_id = i.tenant_id and c.order_id = i.order_id
 where c.order_id is null;

-- The kinds are those of sums.RollupKind.
do $$
begin
	for kind in 1..4 loop
		insert into sales_rollups (tenant_id, kind, day, channel, key, orders, items, units, units_without_cost,
		                           revenue, discounts, tax, cost, refund_count, refunds, refunded_revenue)
		select tenant_id, kind,
		       case when kind = 4 then date_trunc('month', day)::date else day end,
		       case when kind = 4 then '' else channel end,
		       case kind when 2 then category_id when 3 then seller_id when 4 then sold_id else 0 end,
		       count(distinct order_id), sum(items), sum(units), sum(units_without_cost),
		       sum(revenue), sum(discount), sum(tax), sum(cost), count(distinct refund_id), sum(refunds), sum(refunds)
		  from lines
		 group by 1, 3, 4, 5
		 order by 1, 3, 4, 5;
	end loop;
end
$$;

do $$
begin
	execute (select string_agg(definition, ';') from dropped_indexes);
end
$$;

insert into product_counts (tenant_id, slot, status, count)
select tenant_id, 0, status, count(*)
  from products
 group by tenant_id, status;

insert into facet_counts (tenant_id, slot, facet, value, status, count)
select p.tenant_id, 0, f.facet, f.value, p.status, count(*)
  from products p
 cross join lateral facets(p.category_id, p.seller_id, p.warehouse_id, p.tags) f
 group by p.tenant_id, f.facet, f.value, p.status;

insert into low_products (tenant_id, product_id, quantity)
select tenant_id, id, quantity
  from products
 where quantity <= reorder_point
 order by 1, 2;

insert into unpacked_sums (tenant_id, month, block)
select distinct tenant_id, day, (key / 16384)::int
  from sales_rollups
 where kind = 4
union
select distinct tenant_id, day, -1
  from sales_rollups
 where kind = 4;

insert into unpacked_sums (tenant_id, month, block)
select tenant_id, (placed_at at time zone 'UTC')::date, -2
  from orders
 union
select tenant_id, (refunded_at at time zone 'UTC')::date, -2
  from refunds;

insert into tenants_with_work (tenant_id, task)
select id, 'pack_sums'
  from tenants;

do $$
begin
	perform pack_sums(-id, 1000000) from tenants order by id;
end
$$;
