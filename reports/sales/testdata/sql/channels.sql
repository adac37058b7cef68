select count(*) from channels where tenant_id = $1

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Only Scan using channels_pkey on channels

select identifier, label, created_at, updated_at
  from channels
 where tenant_id = $1
 order by identifier
 limit $2 offset $3

-- Plan on PostgreSQL 15:
--   Limit
--     Index Scan using channels_pkey on channels
