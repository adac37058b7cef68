-- The feed has each change of a channel.
create or replace trigger record_changes after insert or delete or update on channels
    for each row execute function record_row('channel', 'identifier');
