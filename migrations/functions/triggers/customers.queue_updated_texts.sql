-- The previous release changes customers without their texts, by which a search would find the former name.
create or replace trigger queue_updated_texts after update of number, name, email on customers
    for each row
    when (current_setting('app.text_version', true) is distinct from '1'
          and (old.number is distinct from new.number or old.name is distinct from new.name
          or old.email is distinct from new.email))
    execute function queue_texts('customer');
