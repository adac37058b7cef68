-- Deliveries are storage, which is never refused, with the response and the error that an update adds.
create or replace trigger count_quota after insert or delete or update of response, error on webhook_deliveries
    for each row execute function count_quota('webhook_deliveries');
