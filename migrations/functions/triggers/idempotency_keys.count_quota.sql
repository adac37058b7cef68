-- Stored responses are storage. The claim inserts the row without a body, which an update adds.
create or replace trigger count_quota after delete or update of body on idempotency_keys
    for each row execute function count_quota('idempotency_keys');
