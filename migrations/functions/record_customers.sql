-- Records in the feed which customers a statement created, changed or deleted.
create or replace function record_customers() returns trigger
language plpgsql
as $$
begin
    if tg_op = 'INSERT' then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select n.tenant_id, public.feed_epoch(n.tenant_id), 'created', '{customer}', array_agg(n.number)
          from new_rows n
         group by n.tenant_id;
    elsif tg_op = 'DELETE' then
        insert into public.changes (tenant_id, epoch, action, types, ids)
        select o.tenant_id, public.feed_epoch(o.tenant_id), 'deleted', '{customer}', array_agg(o.number)
          from old_rows o
         group by o.tenant_id;
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
    end if;
    return null;
end $$;
revoke execute on function record_customers from public;
