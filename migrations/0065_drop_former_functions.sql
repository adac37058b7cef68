-- Functions that releases before schema version 51 call, and neither this release nor the previous one.
drop function claim_change_plan(uuid, integer, bigint, bigint, bigint);
drop function product_sums(bigint, date, integer);
drop function revoke_key(bytea, bigint);
drop function change_member(bytea, bigint, text);
drop function set_member(bigint, text);
