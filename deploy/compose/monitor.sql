-- Whose figures Prometheus shows: pg_monitor reads statistics and no table. DEMO ONLY.
create role storeroom_monitor login password 'demo-monitor';
grant pg_monitor to storeroom_monitor;
