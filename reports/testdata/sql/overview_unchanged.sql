select s.*,
     (select count(*)
        from (
             select
               from changes
              where tenant_id = $1 and epoch = s.epoch and xid >= s.since
              order by xid, seq
              limit $3) c) as changes,
     exists (
         select
           from unnest($4::bigint[], $5::text[], $6::text[]) shown (product_id, sku, name)
          cross join lateral (
                select sku, name
                  from sold_products
                 where tenant_id = $1 and product_id = shown.product_id
                 order by id desc
                 limit 1) latest
          where (latest.sku, latest.name) <> (shown.sku, shown.name)) as renamed
from (
     select (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint as started,
            'changes'::regclass::oid::bigint as relation,
            (select coalesce(max(epoch), 0) from feed_epochs where tenant_id = $1) as epoch,
            (select timezone from sales_zones where tenant_id = $1) as zone,
            (select coalesce($2, pg_snapshot_xmin(pg_current_snapshot())::text::bigint)) as since
     ) s

-- Plan on PostgreSQL 15:
--   Limit (InitPlan)
--     Index Only Scan using feed_epochs_pkey on feed_epochs
--   Index Scan using sales_zones_pkey on sales_zones (InitPlan)
--   Aggregate (InitPlan)
--     Limit
--       Limit (InitPlan)
--         Index Only Scan using feed_epochs_pkey on feed_epochs
--       Merge Append
--         Index Only Scan using changes_0_pkey on changes_0
--         Index Only Scan using changes_1_pkey on changes_1
--         Index Only Scan using changes_2_pkey on changes_2
--         Index Only Scan using changes_3_pkey on changes_3
--         Index Only Scan using changes_4_pkey on changes_4
--         Index Only Scan using changes_5_pkey on changes_5
--         Index Only Scan using changes_6_pkey on changes_6
--         Index Only Scan using changes_7_pkey on changes_7
--         Index Only Scan using changes_8_pkey on changes_8
--         Index Only Scan using changes_9_pkey on changes_9
--         Index Only Scan using changes_10_pkey on changes_10
--         Index Only Scan using changes_11_pkey on changes_11
--   Nested Loop Inner (InitPlan)
--     Function Scan
--     Limit
--       Index Scan using sold_products_product on sold_products
