-- Records in the feed that a reference or a channel changed. The arguments are the type and the column that is the id.
create or replace function record_row() returns trigger
language plpgsql
as $$
declare
    before jsonb := case when tg_op <> 'INSERT' then to_jsonb(old) end;
    after jsonb := case when tg_op <> 'DELETE' then to_jsonb(new) end;
    stored jsonb := coalesce(after, before);
begin
    insert into public.changes (tenant_id, epoch, action, types, changed, ids)
    values ((stored ->> 'tenant_id')::bigint, public.feed_epoch((stored ->> 'tenant_id')::bigint),
            case tg_op when 'INSERT' then 'created' when 'UPDATE' then 'updated' else 'deleted' end, array[tg_argv[0]],
            array(select regexp_replace(key, '_id$', '') -- the warehouse of a channel
                    from jsonb_each(before) b where b.value <> after -> b.key order by key),
            array[stored ->> tg_argv[1]]);
    return null;
end $$;
revoke execute on function record_row from public;
