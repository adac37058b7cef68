-- The plan of an archive gives new ids to rows of the archive, in their order. Taking an id writes no row.
grant usage on sequence categories_id_seq, sellers_id_seq, warehouses_id_seq, products_id_seq, sold_products_id_seq
    to storeroom_runtime;
