-- Workers find the tenant that is due for the longest time. The table is small.
create index tenants_with_work_due on tenants_with_work (task, due);
