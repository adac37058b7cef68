-- Counts a changed product with its new status, references, tags and bytes, copies what lists of a tag need, and queues
-- its text if a release with another rule of search texts writes it. The reservation of a file that the product begins
-- to use is removed, and one that it no longer uses is due for deletion, so each file has a product or a reservation.
create or replace function products_updated() returns trigger
language plpgsql
as $$
declare
    backend_slot smallint;
    growth bigint;
    facet_storage bigint;
    added text[];
    found_files bigint;
begin
    if old.status <> new.status or old.category_id is distinct from new.category_id
       or old.seller_id is distinct from new.seller_id or old.warehouse_id <> new.warehouse_id or old.tags <> new.tags
    then
        backend_slot := public.take_slot(new.tenant_id);
        if old.status <> new.status then
            insert into public.product_counts as c (tenant_id, slot, status, count)
            values (new.tenant_id, backend_slot, old.status, -1), (new.tenant_id, backend_slot, new.status, 1)
            on conflict (tenant_id, slot, status) do update set count = c.count + excluded.count;
        end if;
        with facets as (
             insert into public.facet_counts as c (tenant_id, facet, value, status, slot, count)
             select new.tenant_id, f.facet, f.value, f.status, backend_slot, sum(f.count)
               from (
                    select facet, value, old.status as status, -1 as count
                      from public.facets(old.category_id, old.seller_id, old.warehouse_id, old.tags)
                     union all
                    select facet, value, new.status, 1
                      from public.facets(new.category_id, new.seller_id, new.warehouse_id, new.tags)
                    ) f
              group by 2, 3, 4
             having sum(f.count) <> 0
             on conflict (tenant_id, facet, value, status, slot) do update
                set count = c.count + excluded.count, is_stored = true
             returning value, not is_stored as is_new
        )
        select sum(public.facet_bytes(value)) into facet_storage from facets where is_new;
        perform public.add_to_quota(new.tenant_id, facet_storage, 0, true);
    end if;
    if old.tags <> new.tags then
        delete from public.product_tags
         where tenant_id = new.tenant_id and product_id = new.id and tag <> all (new.tags);
        insert into public.product_tags (tenant_id, tag, created_at, product_id, status, name, sku, price)
        select new.tenant_id, unnest(new.tags), new.created_at, new.id, new.status, new.name, new.sku, new.price
        on conflict (tenant_id, tag, product_id) do update
           set status = excluded.status, name = excluded.name, sku = excluded.sku, price = excluded.price;
    elsif new.tags <> '{}' and (old.status, old.name, old.sku, old.price)
                               is distinct from (new.status, new.name, new.sku, new.price) then
        update public.product_tags
           set status = new.status, name = new.name, sku = new.sku, price = new.price
         where tenant_id = new.tenant_id and product_id = new.id;
    end if;
    -- record_products counts the bytes of statements that do not record their change.
    if current_setting('app.recorded', true) = statement_timestamp()::text then
        growth := public.product_bytes(new.sku, new.name, new.description, new.bin_location, new.upc, new.tags, new.images)
                  - public.product_bytes(old.sku, old.name, old.description, old.bin_location, old.upc, old.tags, old.images);
        perform public.add_to_quota(new.tenant_id, growth, 0, growth > 0);
    end if;
    if old.images <> new.images then
        insert into public.unused_media (tenant_id, due, file)
        select new.tenant_id, now(), i ->> 'file' from jsonb_array_elements(old.images) i where i ? 'file'
        except
        select new.tenant_id, now(), i ->> 'file' from jsonb_array_elements(new.images) i;
        added := array(
            select i ->> 'file' from jsonb_array_elements(new.images) i where i ? 'file'
            except
            select i ->> 'file' from jsonb_array_elements(old.images) i);
        if added <> '{}' then
            with used as (
                delete from public.unused_media where tenant_id = new.tenant_id and file = any (added) returning file
            )
            select count(*) into found_files from used;
            if found_files <> cardinality(added) then
                raise exception 'an image has a file that is not reserved';
            end if;
        end if;
        growth := (select coalesce(sum((i ->> 'bytes')::bigint), 0) from jsonb_array_elements(new.images) i)
                  - (select coalesce(sum((i ->> 'bytes')::bigint), 0) from jsonb_array_elements(old.images) i);
        if growth > 0 then
            insert into public.media_totals as t (tenant_id, bytes)
            values (new.tenant_id, growth)
                on conflict (tenant_id) do update
               set bytes = t.bytes + excluded.bytes;
        elsif growth < 0 then
            update public.media_totals t set bytes = t.bytes + growth where t.tenant_id = new.tenant_id;
        end if;
    end if;
    if current_setting('app.text_version', true) is distinct from '1' and (old.name, old.sku, old.upc)
                                                                       is distinct from (new.name, new.sku, new.upc) then
        delete from public.product_texts t where t.tenant_id = new.tenant_id and t.product_id = new.id;
        insert into public.unfilled_texts (tenant_id, kind, first_id, last_id)
        values (new.tenant_id, 'product', new.id, new.id);
    end if;
    return null;
end $$;
revoke execute on function products_updated from public;
