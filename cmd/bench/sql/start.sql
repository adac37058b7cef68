-- Rows are inserted without triggers, foreign key checks and secondary indexes, which is four
-- times as fast. finish.sql writes the counters and creates the indexes.

set maintenance_work_mem = '512MB';

set work_mem = '512MB';

set timezone = 'UTC';

set synchronous_commit = off;

create temp table dropped_indexes as
select c.relname as name, pg_get_indexdef(i.indexrelid) as definition
  from pg_index i
  join pg_class c on c.oid = i.indexrelid
 where i.indrelid = any (array[
         'products', 'product_tags', 'stock', 'inventory_adjustments', 'orders', 'order_items',
         'cancellations', 'refunds', 'refund_items', 'sold_products'
       ]::regclass[])
   and not exists (select from pg_constraint k where k.conindid = i.indexrelid);

do $$
begin
	execute (select string_agg(format('drop index %I', name), ';') from dropped_indexes);
end
$$;

set session_replication_role = replica;

-- draw returns a number below a limit that depends only on the row number and the salt, so
-- that every machine generates the same data.
create function pg_temp.draw(salt int, n bigint, below int) returns int immutable
return ((hashint8extended(n, salt) & 2147483647) % below)::int;

-- fraction returns a number from 0 to below 1.
create function pg_temp.fraction(salt int, n bigint) returns float immutable
return (hashint8extended(n, salt) & 2147483647) / 2147483648.0;

-- pick returns one of the words.
create function pg_temp.pick(salt int, n bigint, words text[]) returns text immutable
return words[1 + pg_temp.draw(salt, n, cardinality(words))];
