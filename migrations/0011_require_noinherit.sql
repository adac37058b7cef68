-- The roles must have changed before the schema changes. The policy of storeroom_search shows
-- the products of all tenants. It applied to the owner and the migrator too, because the
-- owner inherited the privileges of storeroom_search. Only an administrator can change that.
do $$ begin
    if pg_has_role('storeroom_owner', 'storeroom_search', 'usage') then
        raise 'storeroom_owner inherits the privileges of storeroom_search: '
              'an administrator must run the SQL that `storeroom migrate --print-roles` prints';
    end if;
end $$;
