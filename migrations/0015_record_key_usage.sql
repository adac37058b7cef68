-- Usage of API keys. Instances add to the counts every few seconds, each its own
-- requests, so every column of counts is a sum.

create table key_usage (
    tenant_id  bigint not null,
    hour       timestamptz not null,
    key_id     bigint not null,
    status_2xx integer not null,
    status_3xx integer not null,
    status_4xx integer not null,
    status_5xx integer not null,
    refused    integer not null,
    route      text collate "C" not null,
    minutes    integer[] not null,
    latency    integer[] not null,
    primary key (tenant_id, hour, key_id, route),
    -- The tenant is not referenced: its deletion holds a lock for minutes, and the writer of
    -- usage, which writes the rows of all tenants together, would wait for it.
    foreign key (tenant_id, key_id) references api_keys (tenant_id, id) on delete cascade
) with (fillfactor = 50);
comment on table key_usage is 'Requests of an API key by hour of the tenant''s time zone and group of routes. They are deleted after 90 days.';
comment on column key_usage.refused is 'Requests above the rate limit, which are also part of status_4xx.';
comment on column key_usage.route is 'The first part of the path after /api, or an empty text for requests that reached no route.';
comment on column key_usage.minutes is 'Requests that were not refused, by minute of the hour: 60 counts.';
comment on column key_usage.latency is 'Requests that were not refused, by duration. Package usage defines the bounds of the buckets.';

create table key_errors (
    tenant_id  bigint not null,
    key_id     bigint not null,
    at         timestamptz not null,
    id         bigint not null generated always as identity,
    status     smallint not null,
    method     text not null,
    route      text not null,
    code       text not null,
    request_id text not null,
    primary key (tenant_id, key_id, at, id),
    foreign key (tenant_id, key_id) references api_keys (tenant_id, id) on delete cascade
);
comment on table key_errors is 'The last 20 errors of each API key. They are deleted after 90 days.';
comment on column key_errors.route is 'The pattern of the route, or an empty text. No column contains a path, a query or a body.';

alter table key_usage
    alter tenant_id set statistics 0,
    alter hour set statistics 0;
alter table key_errors
    alter tenant_id set statistics 0,
    alter at set statistics 0;

alter table key_usage enable row level security;
alter table key_usage force row level security;
create policy tenant on key_usage
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, update on key_usage to storeroom_runtime;

alter table key_errors enable row level security;
alter table key_errors force row level security;
create policy tenant on key_errors
    using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
    with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
grant select, insert, delete on key_errors to storeroom_runtime;

-- delete_expired_usage deletes the usage and the errors of more than 90 days ago, as
-- delete_expired_responses deletes responses.
create function delete_expired_usage(after_tenant bigint, max_rows integer)
returns table (tenant bigint, deleted integer)
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
as $$
declare
    before text := coalesce(current_setting('app.tenant_id', true), '');
begin
    select min(t.id) into tenant from tenants t where t.id > after_tenant;
    if tenant is null then
        return;
    end if;
    perform set_config('app.tenant_id', tenant::text, true);
    delete from key_errors e
     where e.tenant_id = tenant and e.at < now() - interval '90 days';
    delete from key_usage u
     where u.tenant_id = tenant
       and (u.hour, u.key_id, u.route) in (
           select o.hour, o.key_id, o.route
             from key_usage o
            where o.tenant_id = tenant and o.hour < now() - interval '90 days'
            order by o.hour
            limit max_rows
              for update skip locked);
    get diagnostics deleted = row_count;
    perform set_config('app.tenant_id', before, true);
    return next;
end $$;

revoke execute on function delete_expired_usage from public;
grant execute on function delete_expired_usage to storeroom_runtime;
