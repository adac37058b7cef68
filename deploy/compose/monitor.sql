-- The role of postgres_exporter: pg_monitor reads statistics, no tables. DEMO ONLY.
create role storeroom_monitor login password 'demo-monitor';
grant pg_monitor to storeroom_monitor;
