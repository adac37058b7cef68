-- The previous release changes products without their texts, by which a search would find the former name.
create or replace trigger queue_updated_texts after update of name, sku, upc on products
    for each row
    when (current_setting('app.text_version', true) is distinct from '1' and (old.name is distinct from new.name
          or old.sku is distinct from new.sku or old.upc is distinct from new.upc))
    execute function queue_texts('product');
