-- The roles and the database, as `storeroom migrate --print-roles` prints them, with
-- public passwords. DEMO ONLY.
do $$ begin
    if not exists (select from pg_roles where rolname = 'storeroom_owner') then
        create role storeroom_owner nologin nosuperuser nocreatedb nocreaterole nobypassrls;
    end if;
end $$;
do $$ begin
    if not exists (select from pg_roles where rolname = 'storeroom_search') then
        create role storeroom_search nologin nosuperuser nocreatedb nocreaterole nobypassrls;
    end if;
end $$;
do $$ begin
    if not exists (select from pg_roles where rolname = 'storeroom_migrator') then
        create role storeroom_migrator login nosuperuser nocreatedb nocreaterole nobypassrls;
    end if;
end $$;
do $$ begin
    if not exists (select from pg_roles where rolname = 'storeroom_runtime') then
        create role storeroom_runtime login nosuperuser nocreatedb nocreaterole nobypassrls;
    end if;
end $$;
alter role storeroom_migrator password 'demo-migrator';
alter role storeroom_runtime password 'demo-runtime';
grant storeroom_search to storeroom_owner;
grant storeroom_owner to storeroom_migrator;
grant storeroom_owner to current_user;
create database "storeroom" owner storeroom_owner encoding 'UTF8' template template0;
revoke temporary on database "storeroom" from public;
