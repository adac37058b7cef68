-- Dropping an index blocks readers, so it is not in the transaction that builds the indexes of 0018.
drop index products_category, products_seller, products_warehouse;
