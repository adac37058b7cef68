-- Adds up bigint for reports. sum computes with numeric, which takes longer. Both fail if the result does not fit.
create or replace aggregate add_up(bigint) (
    sfunc = int8pl, stype = bigint, initcond = '0', combinefunc = int8pl, parallel = safe);
