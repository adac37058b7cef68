-- Creates @copies tenants with the rows of the tenant @tenant. Ids are unique in a tenant only, so they stay the same.

do $$
begin
	execute (select string_agg(format('drop index %I', name), ';') from dropped_indexes);
end
$$;

with copied as (
	insert into tenants (slug, name, plan, rate_limit, timezone, currency)
	select 'tenant-' || lpad((1 + n)::text, 6, '0'), 'Tenant ' || 1 + n, plan, rate_limit, timezone, currency
	  from tenants, generate_series(1, @copies::bigint) n
	 where id = @tenant
	 order by n
	returning id
)
select set_config('bench.tenant', @tenant::text, false), set_config('bench.first', min(id)::text, false) from copied;

do $$
declare
	name text;
	columns text;
begin
	for name, columns in
		select c.relname, string_agg(quote_ident(a.attname), ', ' order by a.attnum)
		  from pg_class c
		  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attname <> 'tenant_id'
		 where c.relnamespace = 'public'::regnamespace
		   and c.relkind = 'r'
		   and exists (select from pg_attribute t where t.attrelid = c.oid and t.attname = 'tenant_id')
		 group by c.relname
	loop
		execute format('insert into %1$I (tenant_id, %2$s) overriding system value
			select t.id, %3$s
			  from tenants t, %1$I x
			 where t.id >= current_setting(''bench.first'')::bigint
			   and x.tenant_id = current_setting(''bench.tenant'')::bigint
			 order by t.id', name, columns, 'x.' || replace(columns, ', ', ', x.'));
	end loop;
end
$$;

do $$
begin
	execute (select string_agg(definition, ';') from dropped_indexes);
end
$$;
