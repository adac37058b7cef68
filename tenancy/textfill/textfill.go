// Package textfill stores the texts that searches compare.
//
// The statement that changes an object writes its text too. Objects that were stored before there were texts, or by
// instances of another release, are in unfilled_texts, and Fill computes their texts. While a tenant has such objects of
// a kind, find_products and find_customers search that kind as the earlier release does.
package textfill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/jobs"
	"github.com/storeroom/storeroom/tenancy/searchtext"
)

const (
	interval = 15 * time.Second
	// batchSize is how many objects a transaction fills. It keeps them locked for some milliseconds.
	batchSize = 500
	// maxRanges is how many rows of unfilled_texts a transaction reads.
	maxRanges = 100
	// statementTimeout is enough to read the texts of all objects of a large tenant once for each range.
	statementTimeout = "10min"
)

// inRow is true, and needs a column that no index contains. PostgreSQL might read all of an index that contains the
// other columns.
const inRow = `updated_at >= '-infinity'`

// Kind is a kind of objects with texts.
type Kind struct {
	Name   string // in unfilled_texts
	Table  string // of the objects
	Key    string // the unique column by which writers sort objects to lock them
	Fields string // the expression for the array of texts that are found
	Texts  string // the table of the texts
	ID     string // its column with the id of the object
}

// Queue writes the texts of the objects with these keys.
func (k Kind) Queue(b *pgx.Batch, tenant tenancy.ID, keys, texts []string) {
	if len(keys) == 0 {
		return
	}
	b.Queue(`
		insert into `+k.Texts+` as t (tenant_id, `+k.ID+`, version, text)
		select $1, o.id, $2, u.text
		  from unnest($3::text[], $4::text[]) u (key, text)
		 cross join lateral (select * from `+k.Table+` where tenant_id = $1 and `+k.Key+` = u.key limit 1) o
		    on conflict (tenant_id, `+k.ID+`) do update
		   set version = excluded.version, text = excluded.text
		 where (t.version, t.text) is distinct from (excluded.version, excluded.text)`,
		tenant, searchtext.Version, keys, texts)
}

// Fill writes the missing and outdated texts of all tenants. It continues with the next tenant after an error, and
// returns the errors.
func Fill(ctx context.Context, pool *db.DB, kinds ...Kind) error {
	return Worker(pool, kinds...).Drain(ctx)
}

// Worker returns the worker that fills the texts of these kinds.
func Worker(pool *db.DB, kinds ...Kind) jobs.Kind {
	return jobs.Kind{
		Task: "fill_texts", Parts: pool.Parts, Poll: interval, Lease: interval, Retry: interval,
		Do: func(ctx context.Context, job *jobs.Job) (again time.Duration, err error) {
			for _, kind := range kinds {
				if failed := kind.fill(ctx, pool, job.Tenant); failed != nil {
					err = errors.Join(err, fmt.Errorf("of the kind %q: %w", kind.Name, failed))
				}
			}
			if err != nil {
				return 0, err
			}
			left, err := db.All[struct{ ID int64 }](ctx, pool, job.Tenant,
				`select id from unfilled_texts where tenant_id = $1 limit 1`, job.Tenant)
			if err != nil || len(left) > 0 { // an instance of the previous release fills them
				return interval, err
			}
			return jobs.Done, nil
		},
	}
}

func (k Kind) fill(ctx context.Context, db *db.DB, tenant tenancy.ID) error {
	for more := true; more; {
		err := db.Tx(ctx, tenant, func(tx pgx.Tx) (err error) {
			more, err = k.fillBatch(ctx, tx, tenant)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// idRange is a row of unfilled_texts.
type idRange struct {
	ID, FirstID, LastID int64
}

// object is an object without a current text. Number is that of its range, from 1.
type object struct {
	Number, ID int64
	Key        string
}

// fillBatch fills the first objects of the ranges that no other instance has locked. It returns false if there are none.
func (k Kind) fillBatch(ctx context.Context, tx pgx.Tx, tenant tenancy.ID) (more bool, err error) {
	var ranges []idRange
	b := &pgx.Batch{}
	b.Queue(`select set_config('statement_timeout', $1, true)`, statementTimeout)
	db.QueueRows(b, &ranges, `
		select id, first_id, last_id
		  from unfilled_texts
		 where tenant_id = $1 and kind = $2
		 order by id
		 limit $3
		   for update skip locked`, tenant, k.Name, maxRanges)
	if err := tx.SendBatch(ctx, b).Close(); err != nil || len(ranges) == 0 {
		return false, err
	}
	objects, err := k.read(ctx, tx, tenant, ranges)
	if err != nil {
		return false, err
	}
	return true, k.write(ctx, tx, tenant, ranges, objects)
}

// read returns up to batchSize objects, by range and id.
func (k Kind) read(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, ranges []idRange) (objects []object, err error) {
	first, last := make([]int64, len(ranges)), make([]int64, len(ranges))
	for i, r := range ranges {
		first[i], last[i] = r.FirstID, r.LastID
	}
	b := &pgx.Batch{}
	db.QueueRows(b, &objects, `
		select r.number, o.id, o.key
		  from unnest($2::bigint[], $3::bigint[]) with ordinality r (first, last, number)
		 cross join lateral (
		       select p.id, p.`+k.Key+` as key
		         from `+k.Table+` p
		        where p.tenant_id = $1 and p.id >= r.first and p.id <= r.last and p.`+inRow+`
		          and (select t.version from `+k.Texts+` t where t.tenant_id = $1 and t.`+k.ID+` = p.id)
		              is distinct from $4
		        order by p.id
		        limit $5
		       ) o
		 order by r.number, o.id
		 limit $5`, tenant, first, last, searchtext.Version, batchSize)
	return objects, tx.SendBatch(ctx, b).Close()
}

// write locks the objects, writes their texts and removes what is done from the ranges.
func (k Kind) write(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, ranges []idRange, objects []object) error {
	type fields struct {
		Key    string
		Fields []string
	}
	var read []fields
	var ids []int64
	for _, o := range objects {
		ids = append(ids, o.ID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids) // ranges can overlap
	b := &pgx.Batch{}
	// The lock is a separate query, so that the next one sees what other transactions committed while it waited.
	b.Queue(`
		select
		  from unnest(array(
		       select o.id
		         from unnest($2::bigint[]) i (id)
		        cross join lateral (select * from `+k.Table+` where tenant_id = $1 and id = i.id and `+inRow+` limit 1) o
		        order by o.`+k.Key+`
		       )) l (id)
		 cross join lateral (
		       select from `+k.Table+` where tenant_id = $1 and id = l.id limit 1 for no key update
		       ) o`, tenant, ids)
	db.QueueRows(b, &read, `
		select o.`+k.Key+` as key, array_remove(`+k.Fields+`, null) as fields
		  from unnest($2::bigint[]) i (id)
		 cross join lateral (select * from `+k.Table+` where tenant_id = $1 and id = i.id and `+inRow+` limit 1) o`, tenant, ids)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	keys, texts := make([]string, len(read)), make([]string, len(read))
	for i, o := range read {
		keys[i], texts[i] = o.Key, searchtext.Text(o.Fields...)
	}
	b = &pgx.Batch{}
	k.Queue(b, tenant, keys, texts)
	done := len(ranges)
	if len(objects) == batchSize {
		last := objects[batchSize-1]
		done = int(last.Number) - 1
		b.Queue(`update unfilled_texts set first_id = $4 where tenant_id = $1 and kind = $2 and id = $3`,
			tenant, k.Name, ranges[done].ID, last.ID+1)
	}
	for _, r := range ranges[:done] {
		b.Queue(`delete from unfilled_texts where tenant_id = $1 and kind = $2 and id = $3`, tenant, k.Name, r.ID)
	}
	return tx.SendBatch(ctx, b).Close()
}
