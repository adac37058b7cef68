-- New rollups make packed and monthly sums of their month invalid.
create or replace trigger unpack_inserted after insert on sales_rollups
    referencing new table as changed_rows for each statement execute function unpack_product_sums();
