-- The roles and the database, as `storeroom migrate --print-roles` prints them, with
-- public passwords. DEMO ONLY.
do $role$ begin
    if not exists (select from pg_roles where rolname = 'storeroom_owner') then
        create role storeroom_owner nosuperuser nocreatedb nocreaterole nobypassrls nologin;
    end if;
end $role$;
do $role$ begin
    if not exists (select from pg_roles where rolname = 'storeroom_search') then
        create role storeroom_search nosuperuser nocreatedb nocreaterole nobypassrls nologin;
    end if;
end $role$;
do $role$ begin
    if not exists (select from pg_roles where rolname = 'storeroom_search_noinherit') then
        create role storeroom_search_noinherit nosuperuser nocreatedb nocreaterole nobypassrls nologin noinherit;
    end if;
end $role$;
do $role$ begin
    if not exists (select from pg_roles where rolname = 'storeroom_migrator') then
        create role storeroom_migrator nosuperuser nocreatedb nocreaterole nobypassrls login password 'demo-migrator';
    end if;
end $role$;
do $role$ begin
    if not exists (select from pg_roles where rolname = 'storeroom_runtime') then
        create role storeroom_runtime nosuperuser nocreatedb nocreaterole nobypassrls login password 'demo-runtime';
    end if;
end $role$;
grant storeroom_search to storeroom_search_noinherit;
grant storeroom_search_noinherit to storeroom_owner;
revoke storeroom_search from storeroom_owner;
grant storeroom_owner to storeroom_migrator;
grant storeroom_owner to current_user;
create database "storeroom" owner storeroom_owner encoding 'UTF8' template template0;
revoke temporary on database "storeroom" from public;
\connect "storeroom"
revoke execute on function
    lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea), lo_put(oid, bigint, bytea),
    lo_truncate(integer, integer), lo_truncate64(integer, bigint), lowrite(integer, bytea)
    from public;
