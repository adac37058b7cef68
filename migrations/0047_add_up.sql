-- Reports add up sums that are bigint. sum(bigint) computes with 128 bits and returns numeric, which takes longer to
-- compute and to convert back. Both fail if the result does not fit into bigint.
create aggregate add_up(bigint) (sfunc = int8pl, stype = bigint, initcond = '0', combinefunc = int8pl, parallel = safe);
