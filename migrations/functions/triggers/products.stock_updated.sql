-- Low products are listed without reading all products. A change far above the reorder point does not fire it.
create or replace trigger stock_updated after update of quantity, reorder_point on products
    for each row when (old.quantity <= old.reorder_point or new.quantity <= new.reorder_point)
    execute function list_low_products();
