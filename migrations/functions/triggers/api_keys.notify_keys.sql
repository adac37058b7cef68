-- Instances cache keys, and must forget one that is revoked or changed at once.
create or replace trigger notify_keys after insert or delete or update of name, permissions, expires_at, revoked_at
    on api_keys
    for each row execute function notify_keys();
