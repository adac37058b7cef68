-- Problems of the schema and the roles that could show a tenant the rows of another, or
-- slow its requests down.
-- The query reads only PostgreSQL's catalog.
--
-- A table without a tenant is read before the tenant is known, so the runtime role must
-- have no privilege on it. In every other table, tenant_id is the first column of all
-- keys, row-level security is forced, and the only policy is the canonical one. The
-- runtime role changes keys only with functions that check a session.
--
-- $1 is true if the schema is newer than the program. Then the list of security definer
-- functions is not complete.
with
tables as (
    -- On a node of Citus, the name of a shard is that of the table and a number, and a distributed table has no rows.
    -- It does not force row-level security, because a move of its shards could not replicate rows otherwise.
    select c.oid, n.name, c.relrowsecurity, c.relforcerowsecurity, c.relkind, c.relowner,
           exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname ~ '^truncate_trigger_') as is_empty,
           n.name in ('tenants', 'users', 'memberships', 'sessions', 'one_time_links', 'key_hashes',
                      'schema_migrations', 'timelines', 'tenants_with_work',
                      'due_webhooks') as without_tenant
      from pg_class c
     cross join lateral regexp_replace(c.relname, '_[0-9]{6,}$', '') n (name)
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
),
canonical (expr) as (
    values ('(tenant_id = ( SELECT (NULLIF(current_setting(''app.tenant_id''::text, true), ''''::text))::bigint AS "nullif"))'),
           -- Citus accepts no subquery.
           ('(tenant_id = (NULLIF(current_setting(''app.tenant_id''::text, true), ''''::text))::bigint)')
),
granted as (
    select t.oid, t.name, a.privilege_type, a.grantee, null as column_name
      from tables t
      join pg_class c on c.oid = t.oid
     cross join lateral aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
     where a.grantee <> c.relowner
    union all
    select t.oid, t.name, a.privilege_type, a.grantee, att.attname
      from tables t
      join pg_attribute att on att.attrelid = t.oid and att.attacl is not null
     cross join lateral aclexplode(att.attacl) a
     where a.grantee <> t.relowner
),
problems (object, problem) as (
    select t.name, 'has no column tenant_id and is not one of the tables without a tenant'
      from tables t
     where not without_tenant
       and not exists (
           select from pg_attribute a
            where a.attrelid = t.oid and a.attname = 'tenant_id' and not a.attisdropped)
    union all
    select t.name, 'tenant_id may be null'
      from tables t
      join pg_attribute a on a.attrelid = t.oid and a.attname = 'tenant_id' and not a.attnotnull
     where not without_tenant
    union all
    select name, 'row-level security is not enabled'
      from tables
     where not without_tenant and not relrowsecurity
    union all
    select name, 'row-level security is not forced on the owner'
      from tables
     where not without_tenant and not relforcerowsecurity and not is_empty
    union all
    select t.name, 'does not have the canonical policy for all commands and all roles'
      from tables t
     where not without_tenant
       and not exists (
           select from pg_policy p, canonical
            where p.polrelid = t.oid and p.polname = 'tenant' and p.polcmd = '*'
              and p.polpermissive and p.polroles = '{0}'
              and pg_get_expr(p.polqual, p.polrelid) = canonical.expr
              and pg_get_expr(p.polwithcheck, p.polrelid) = canonical.expr)
    union all
    select t.name, 'has the policy ' || p.polname || ' besides the canonical one'
      from tables t
      join pg_policy p on p.polrelid = t.oid
     where p.polname <> 'tenant'
       and not (($1::boolean or t.name in ('products', 'customers', 'product_texts', 'customer_texts', 'unfilled_texts', 'orders'))
                 and p.polname = 'search' and p.polcmd = 'r'
                 and p.polroles = array[to_regrole('storeroom_search')::oid])
    union all
    select t.name, 'keeps statistics of ' || a.attname || ', so that the plans for a new tenant depend on ANALYZE'
      from tables t
      join pg_attribute a on a.attrelid = t.oid and a.attstattarget is distinct from 0
      join pg_attribute tenant on tenant.attrelid = t.oid and tenant.attname = 'tenant_id'
     where a.attname = 'tenant_id'
        or a.atttypid in ('timestamptz'::regtype, 'date'::regtype)
           and exists (select from pg_index x where x.indrelid = t.oid and a.attnum = any (x.indkey))
        or a.attname = any (array['category_id', 'seller_id', 'warehouse_id', 'customer_id', 'tag'])
           and exists (select from pg_index x where x.indrelid = t.oid and not x.indisunique
                          and a.attnum = x.indkey[1] and x.indnkeyatts > 2)
    union all
    select i.relname::text, 'is a unique index that does not start with tenant_id'
      from tables t
      join pg_index x on x.indrelid = t.oid and x.indisunique
      join pg_class i on i.oid = x.indexrelid
      left join pg_attribute a on a.attrelid = t.oid and a.attnum = x.indkey[0]
     where not without_tenant and a.attname is distinct from 'tenant_id'
    union all
    select t.name, 'has the foreign key ' || k.conname || ' that does not start with tenant_id'
      from tables t
      join pg_constraint k on k.conrelid = t.oid and k.contype = 'f'
      join pg_attribute a on a.attrelid = t.oid and a.attnum = k.conkey[1]
      join pg_attribute f on f.attrelid = k.confrelid and f.attnum = k.confkey[1]
     where not without_tenant
       and not (a.attname = 'tenant_id'
                and (f.attname = 'tenant_id'
                     or regexp_replace(k.confrelid::regclass::text, '^.*\.|_[0-9]{6,}$', '', 'g') = 'tenants'))
       and not k.confrelid is not distinct from to_regclass('public.users')::oid
    union all
    select c.relname::text,
           case c.relkind
               when 'm' then 'is a materialized view, which has no policies'
               else 'is a view without security_invoker, so it reads with the privileges of its owner' end
      from pg_class c
     where c.relnamespace = 'public'::regnamespace
       and (c.relkind = 'm' or c.relkind = 'v' and not coalesce(c.reloptions @> '{security_invoker=true}', false))
       and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
    union all
    select p.proname::text, v.problem
      from pg_proc p
     cross join lateral (values
           (not $1::boolean and p.proname not in (
                'find_key', 'resolve_key', 'create_key', 'roll_key', 'revoke_key',
                'delete_expired_responses', 'delete_expired_usage', 'pack_sums', 'pack_product_sums', 'pack_customers',
                'skip_tenant',
                'reserve_media', 'claim_unused_media', 'due_media', 'forget_unused_media',
                'claim_due_change_plan', 'count_due_change_plans', 'queue_task', 'claim_work', 'move_work',
                'delete_expired_change_plans', 'record_facts', 'remove_facts', 'remove_sales', 'count_returns',
                'search_products', 'search_customers', 'find_products', 'find_customers', 'find_orders',
                'next_unfilled_tenant', 'schema_version', 'schema_functions', 'password_parameters', 'begin_session',
                'use_session', 'session_tenants', 'confirm_session', 'end_session', 'change_password', 'sign_in',
                'log_failed_sign_in',
                'tenant_members', 'change_member', 'make_link', 'tenant_links',
                'end_link', 'open_link', 'accept_invitation', 'use_reset', 'wal_position', 'has_replayed',
                'empty_old_changes', 'empty_old_webhook_deliveries', 'delete_unused_deliveries', 'queue_webhooks',
                'queue_webhook', 'claim_webhooks', 'lock_maker', 'check_file_owner',
                'recount_quotas'),
            'is a security definer function that is not in the list of the lint'),
           (not coalesce(p.proconfig @> '{"search_path=pg_catalog, public, pg_temp"}', false),
            'is a security definer function without a pinned search_path'),
           (exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
                     where a.grantee = 0 and a.privilege_type = 'EXECUTE'),
            'is a security definer function that PUBLIC may execute')
           ) v (bad, problem)
     where p.pronamespace = 'public'::regnamespace and p.prosecdef and v.bad
    union all
    select g.name, 'grants ' || g.privilege_type || ' to PUBLIC'
      from granted g
     where g.grantee = 0
    union all
    select g.name, 'has no policy and grants ' || g.privilege_type || ' to ' || g.grantee::regrole
      from granted g
      join tables t using (oid)
     where t.without_tenant and g.grantee <> 0
    union all
    select g.name, 'grants ' || g.privilege_type || ' to ' || g.grantee::regrole || ', which is not subject to policies'
      from granted g
     where g.grantee <> 0 and g.privilege_type in ('TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN')
    union all
    select g.name,
           'grants ' || g.privilege_type || ' to ' || g.grantee::regrole || ', which must change keys with functions'
      from granted g
     where g.name = 'api_keys' and g.grantee <> 0
       and (g.privilege_type in ('INSERT', 'DELETE')
            or g.privilege_type = 'UPDATE' and g.column_name is distinct from 'last_used_at')
    union all
    select g.name, 'grants ' || g.privilege_type || ' to storeroom_search'
      from granted g
     where g.grantee = to_regrole('storeroom_search')::oid
       and not (($1::boolean or g.name in ('products', 'customers', 'product_texts', 'customer_texts', 'unfilled_texts', 'orders'))
                 and g.privilege_type = 'SELECT')
    union all
    select r.rolname::text, v.problem
      from pg_roles r
     cross join lateral (values
           (r.rolsuper or r.rolbypassrls or r.rolcreaterole, 'is a superuser, or has BYPASSRLS or CREATEROLE'),
           (r.rolcanlogin and r.rolname in ('storeroom_search', 'storeroom_search_noinherit')
                -- The nodes of Citus log in as the owner of a function, with the certificate that pg_hba.conf demands.
                and not (r.rolname = 'storeroom_search' and exists (select from pg_extension where extname = 'citus')),
            'can log in'),
           (r.rolname <> 'storeroom_search' and not r.rolsuper and pg_has_role(r.oid, 'storeroom_search', 'usage'),
            'inherits the privileges of storeroom_search: an administrator must run the SQL that '
            '`storeroom migrate --print-roles` prints'),
           (r.rolname = 'storeroom_runtime' and exists (select from pg_auth_members m where m.member = r.oid),
            'is a member of another role'),
           (r.rolname = 'storeroom_runtime' and exists (select from pg_class c where c.relowner = r.oid),
            'owns tables')
           ) v (bad, problem)
     where v.bad
       and r.rolname in ('storeroom_runtime', 'storeroom_search', 'storeroom_search_noinherit', 'storeroom_owner',
                         'storeroom_migrator')
)
select object, problem, false as warning
  from problems
union all
-- Only a superuser can revoke these privileges, so they are not a reason to refuse.
select 'storeroom_runtime',
       'can write large objects, which belong to no tenant: a superuser must run the SQL that '
       '`storeroom migrate --print-roles` prints',
       true
 where exists (
       select from pg_proc
        where pronamespace = 'pg_catalog'::regnamespace
          and proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_import', 'lo_put', 'lo_truncate', 'lo_truncate64',
                          'lowrite')
          and has_function_privilege('storeroom_runtime', oid, 'execute')
       )
 order by object, problem
