-- Low products are listed without reading all products.
create or replace trigger list_inserts after insert on products
    for each row when (new.quantity <= new.reorder_point)
    execute function list_low_products();
