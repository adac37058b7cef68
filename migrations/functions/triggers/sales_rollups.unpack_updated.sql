-- Changed rollups make packed and monthly sums of their month invalid.
create or replace trigger unpack_updated after update on sales_rollups
    referencing new table as changed_rows for each statement execute function unpack_product_sums();
