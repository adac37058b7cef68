-- Records in the feed which customers a statement created or changed, and queues their texts if a release with another
-- rule of search texts writes them.
create or replace function record_customers() returns trigger
language plpgsql
as $$
declare
    of_another_rule constant boolean := current_setting('app.text_version', true) is distinct from '1';
begin
    if tg_op = 'INSERT' then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select n.tenant_id, public.feed_epoch(n.tenant_id), 'created', '{customer}', array_agg(n.number)
          from new_rows n
         group by n.tenant_id;
        if of_another_rule then
            insert into public.unfilled_texts (tenant_id, kind, first_id, last_id)
            select n.tenant_id, 'customer', min(n.id), max(n.id) from new_rows n group by n.tenant_id;
        end if;
    else
        insert into public.changes (tenant_id, epoch, action, types, changed, ids)
        select c.tenant_id, public.feed_epoch(c.tenant_id), 'updated', '{customer}', c.changed, array_agg(c.number)
          from (
               select n.tenant_id, n.number, array_remove(array[
                      case when n.name is distinct from o.name then 'name' end,
                      case when n.email is distinct from o.email then 'email' end,
                      case when n.erased_at is distinct from o.erased_at then 'erased_at' end], null) as changed
                 from new_rows n
                 full join old_rows o on o.id = n.id and o.tenant_id = n.tenant_id
               ) c
         where c.changed <> '{}'
         group by c.tenant_id, c.changed;
        if of_another_rule then
            with changed as (
                 select n.tenant_id, n.id
                   from new_rows n
                   full join old_rows o on o.id = n.id and o.tenant_id = n.tenant_id
                  where (n.number, n.name, n.email) is distinct from (o.number, o.name, o.email)
            ), deleted as (
                 delete from public.customer_texts t
                  where (t.tenant_id, t.customer_id) in (select c.tenant_id, c.id from changed c)
            )
            insert into public.unfilled_texts (tenant_id, kind, first_id, last_id)
            select c.tenant_id, 'customer', c.id, c.id from changed c;
        end if;
    end if;
    return null;
end $$;
revoke execute on function record_customers from public;
