select count(*) from channels where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Only Scan using channels_pkey on channels

select identifier, label, takes_stock, when_short, warehouse_id,
(select name from warehouses w where w.tenant_id = channels.tenant_id and w.id = warehouse_id) as warehouse_name,
created_at, updated_at
       from channels
      where tenant_id = $1
      order by identifier
      limit $2 offset $3

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using channels_pkey on channels
--       Index Scan using warehouses_tenant_id_name_key on warehouses (SubPlan)
