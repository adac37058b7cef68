select count(*)
  from categories
 where tenant_id = $1
   and position(lower($2 collate "und-x-icu") in lower(name collate "und-x-icu")) > 0

-- Plan on PostgreSQL 15:
--   Aggregate
--     Index Only Scan using categories_tenant_id_name_key on categories

select id, name, false as is_default, created_at, updated_at
  from categories
 where tenant_id = $1
   and position(lower($2 collate "und-x-icu") in lower(name collate "und-x-icu")) > 0
 order by name asc, id asc
 limit $3 offset $4

-- Plan on PostgreSQL 15:
--   Limit
--     Sort
--       Index Scan using categories_tenant_id_name_key on categories
