-- Workers find a webhook at its next attempt, at the end of a lease and at the expiry of its maker.
create or replace trigger queue_webhook after insert or update of state, next_attempt_at, lease_until on webhooks
    for each row execute function queue_webhook();
