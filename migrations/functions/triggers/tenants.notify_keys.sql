-- Instances cache settings of a tenant with its keys, and must forget them at once.
create or replace trigger notify_keys after delete or update of name, plan, rate_limit, timezone, currency, suspended_at
    on tenants
    for each row execute function notify_keys();
