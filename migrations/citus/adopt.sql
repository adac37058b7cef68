-- Creates the schema of a shard group on the node that has the group, or brings it up to date. It has the name
-- storeroom_SHARD, where SHARD is the number of the shard of storeroom_citus.shards, and consists of
--
--   - a view of each table, over the shard on this node;
--   - copies of the functions that statements and triggers call, which use these views;
--   - sequences, whose values are larger than those that the group used on other nodes;
--   - the function hold, with which each transaction begins.
--
-- Citus creates a shard on its new node without forced row-level security, because it could not replicate rows to it
-- otherwise, and with triggers whose functions use the distributed tables. adopt changes both.
create or replace function storeroom_citus.adopt(shard bigint) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set citus.enable_ddl_propagation = off
set citus.enable_manual_changes_to_shards = on
set check_function_bodies = off
set client_min_messages = warning
as $adopt$
declare
    canonical constant text := 'tenant_id = (select nullif(current_setting(''app.tenant_id'', true), '''')::bigint)';
    home      constant text := 'storeroom_' || shard;
    version   text;
    residence integer;
    marker    text;
    is_here   boolean;
    triggers  text[];
    part      text;
    s         record;
    d         record;
    kept      record;
    parent    text;
begin
    perform pg_advisory_xact_lock(shard);
    perform lock_shard_metadata(5, array[shard]);
    select groupid as node, shardminvalue as first, shardmaxvalue as last
      into s
      from pg_dist_placement
      join pg_dist_local_group using (groupid)
      join pg_dist_shard using (shardid)
     where shardid = shard;
    if not found then
        raise 'the shard % is not on this node', shard using errcode = '57S01';
    end if;
    select definition into version from storeroom_citus.definitions where kind = 'version';
    part := storeroom_citus.shard_of('storeroom_citus.tenants', shard);
    execute format('select max(residence) from %s', part) into residence; -- null without tenants
    marker := obj_description(to_regnamespace(home), 'pg_namespace');
    is_here := marker is not null and to_regclass(home || '.tenants') is not null -- Citus drops it with the shard
               and split_part(marker, ' ', 2)::integer = coalesce(residence, split_part(marker, ' ', 2)::integer);
    if is_here and split_part(marker, ' ', 1) = version then
        return;
    end if;
    triggers := array(
        select array[t.tgname::text, t.tgrelid::regclass::text, f.proname::text, pg_get_triggerdef(t.oid)]
          from pg_trigger t
          join pg_proc f on f.oid = t.tgfoid
          join storeroom_citus.definitions o on o.kind = 'table'
               and t.tgrelid = storeroom_citus.shard_of(o.definition, shard)::regclass
         where not t.tgisinternal and t.tgparentid = 0 -- those of partitions follow
           and f.pronamespace in ('public'::regnamespace, to_regnamespace(home)));

    -- Citus reads the sizes of all shards of a group in one statement. adopt does not wait for one table while it has
    -- another, so that a move does not end in a deadlock, unless other transactions keep the tables for half a second.
    for try in 1 .. 10 loop
        begin
            execute format('lock table %s in access exclusive mode %s',
                           (select string_agg(storeroom_citus.shard_of(o.definition, shard), ', ')
                              from storeroom_citus.definitions o where o.kind = 'table'),
                           case when try < 10 then 'nowait' end);
            exit;
        exception when lock_not_available then
            if try = 10 then
                raise;
            end if;
            perform pg_sleep(0.05);
        end;
    end loop;

    -- A schema of an earlier residence has sequences whose values the group may have used on another node.
    if is_here then
        residence := split_part(marker, ' ', 2);
    else
        residence := coalesce(residence, 0) + 1;
        execute format('drop schema if exists %I cascade', home);
        execute format('create schema %I', home);
        execute format('grant usage on schema %I to storeroom_runtime, storeroom_search', home);
        execute format('update %s set residence = %s', part, residence);
    end if;
    for d in select * from storeroom_citus.definitions where kind = 'sequence' loop
        execute format('create sequence if not exists %I.%s start %s', home, d.name,
                       case residence when 1 then d.definition::bigint else residence::bigint << 32 end);
        execute format('grant usage on sequence %I.%s to storeroom_runtime', home, d.name);
    end loop;

    for d in select * from storeroom_citus.definitions where kind = 'table' loop
        part := storeroom_citus.shard_of(d.definition, shard);
        execute format('drop view if exists %I.%s', home, d.name);
        execute format('create view %I.%s with (security_invoker) as select * from %s', home, d.name, part);
        -- PostgreSQL checks the privileges and policies of the shard.
        execute format('grant select, insert, update, delete on %I.%s to storeroom_runtime, storeroom_search',
                       home, d.name);
        if exists (select from pg_policy where polrelid = part::regclass and polname = 'tenant') then
            execute format('alter policy tenant on %s using (%s) with check (%2$s)', part, canonical);
            execute format('alter table %s force row level security', part);
        end if;
        for kept in -- Citus copies the statistics target neither of partitions nor of tables that are distributed already
            select attrelid::regclass as name, attname as field
              from pg_attribute
             where attrelid in (part::regclass, d.definition::regclass)
               and (attname = 'tenant_id' or d.name = 'tenants_with_work' and attname = 'due')
               and attstattarget is distinct from 0
        loop
            execute format('alter table %s alter %I set statistics 0', kept.name, kept.field);
        end loop;
    end loop;
    execute format('alter view %I.tenants alter residence set default %s', home, residence);
    for d in select * from storeroom_citus.definitions where kind = 'identity' loop
        execute format('alter view %I.%s alter %s set default nextval(%L)', home, split_part(d.name, '.', 1),
                       split_part(d.name, '.', 2), home || '.' || d.definition);
    end loop;

    for d in select * from storeroom_citus.definitions where kind = 'owner' loop
        execute format('drop function if exists %I.%s', home, d.name);
    end loop;
    for d in select * from storeroom_citus.definitions where kind = 'function' loop
        part := replace(d.definition, 'tg_table_name', 'regexp_replace(tg_table_name, ''_[0-9]+$'', '''')'); -- of a shard
        -- A view needs privileges on all of its columns, and storeroom_search has those on some.
        if exists (select from storeroom_citus.definitions o where o.kind = 'owner' and o.name = d.name) then
            part := regexp_replace(part, '\mpublic\.products\M', storeroom_citus.shard_of('public.products', shard), 'g');
            part := regexp_replace(part, '\mpublic\.customers\M', storeroom_citus.shard_of('public.customers', shard), 'g');
            part := regexp_replace(part, '\mpublic\.orders\M', storeroom_citus.shard_of('public.orders', shard), 'g');
        end if;
        foreach parent in array '{changes,webhook_deliveries}'::text[] loop -- its partitions are those of the shard
            if strpos(part, quote_literal('public.' || parent)) > 0 then
                part := replace(part, quote_literal('public.' || parent),
                                quote_literal(storeroom_citus.shard_of('public.' || parent, shard)));
            end if;
        end loop;
        part := regexp_replace(part, '\mpublic\.(?!(products|customers|orders|changes|webhook_deliveries)_\d+)', home || '.', 'g');
        execute replace(part, '''public''', quote_literal(home) || ', ''public''');
        execute format('revoke execute on function %I.%s from public', home, d.name);
    end loop;
    for d in select * from storeroom_citus.definitions where kind = 'grant' loop
        execute format('grant execute on function %I.%s to %s', home, d.name, d.definition);
    end loop;
    execute format('grant create on schema %I to storeroom_search', home);
    for d in select * from storeroom_citus.definitions where kind = 'owner' loop
        execute format('alter function %I.%s owner to %s', home, d.name, d.definition);
    end loop;
    execute format('revoke create on schema %I from storeroom_search', home);

    for i in 1 .. coalesce(array_length(triggers, 1), 0) loop
        execute format('drop trigger if exists %I on %s', triggers[i][1], triggers[i][2]);
        execute regexp_replace(triggers[i][4], 'EXECUTE FUNCTION [^(]*',
                               format('execute function %I.%I', home, triggers[i][3]));
    end loop;
    for d in
        select p.oid::regprocedure as name
          from pg_proc p
         where p.pronamespace = home::regnamespace and p.proname <> 'hold'
           and not exists (select from storeroom_citus.definitions o
                            where o.kind = 'function' and p.oid::regprocedure::text = home || '.' || o.name)
    loop
        execute format('drop function %s', d.name);
    end loop;

    -- The range of a shard never changes: a split makes new shards.
    execute format($function$
        create or replace function %I.hold(of_tenant text, locks boolean default true) returns void
        language plpgsql security definer
        as $hold$
        begin
            if locks and pg_catalog.lock_shard_metadata(5, array[%2$s::pg_catalog.int8]) is null then
                return; -- it never returns null: a condition is computed faster than a query
            end if;
            if not exists (select from pg_catalog.pg_dist_placement p
                            where p.shardid operator(pg_catalog.=) %2$s and p.groupid operator(pg_catalog.=) %3$s)
               or pg_catalog.hashint8(of_tenant::pg_catalog.int8) operator(pg_catalog.<) %4$s
               or pg_catalog.hashint8(of_tenant::pg_catalog.int8) operator(pg_catalog.>) %5$s then
                raise 'the tenant %% is not in this shard group, or the group is on another node', of_tenant
                      using errcode = '57S01';
            end if;
        end $hold$;
        revoke execute on function %1$I.hold from public;
        grant execute on function %1$I.hold to storeroom_runtime$function$, home, shard, s.node, s.first, s.last);
    execute format('comment on schema %I is %L', home, version || ' ' || residence);
end $adopt$;
revoke execute on function storeroom_citus.adopt(bigint) from public;
grant execute on function storeroom_citus.adopt(bigint) to storeroom_runtime;

-- Returns the name of the shard of a table in the group of a shard of storeroom_citus.shards.
create or replace function storeroom_citus.shard_of(of_table text, shard bigint) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select of_table || '_' || s.shardid
      from pg_dist_shard a
      join pg_dist_shard s on s.logicalrelid = of_table::regclass and s.shardminvalue = a.shardminvalue
     where a.shardid = shard
$$;
revoke execute on function storeroom_citus.shard_of(text, bigint) from public;
