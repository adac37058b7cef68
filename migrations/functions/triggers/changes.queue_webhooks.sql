-- Each change is sent to the webhooks of its tenant. A trigger for each row costs less than one for each statement,
-- because most statements record one change.
create or replace trigger queue_webhooks after insert on changes
    for each row execute function queue_webhooks();
