-- Whether a tenant may delete a file: the name has a digest of its tenant. check_file_owner and reserve_media call it.
create or replace function owns_file(of_tenant bigint, file text) returns boolean
language sql immutable
set search_path = pg_catalog, public, pg_temp
as $$
    select file !~ '^[A-Z2-7]{26}(-[0-9]{3,4})?\.(jpg|png)$'
        or substr(file, 17, 10) = translate(
               left(encode(sha256(convert_to(of_tenant || ' ' || left(file, 16), 'UTF8')), 'hex'), 10),
               '0123456789abcdef', 'ABCDEFGHIJKLMNOP')
$$;
revoke execute on function owns_file from public;
