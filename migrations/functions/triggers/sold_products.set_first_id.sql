-- Reports add up all rows of a product, also those that concurrent sales insert.
create or replace trigger set_first_id before insert on sold_products
    for each row execute function set_first_id();
