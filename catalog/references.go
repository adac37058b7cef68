package catalog

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// Kind is a kind of rows that products refer to. Its value is the name of the table.
type Kind string

// The kinds of references.
const (
	Categories Kind = "categories"
	Sellers    Kind = "sellers"
	Warehouses Kind = "warehouses"
)

// Reference is a category, a seller or a warehouse.
type Reference struct {
	ID        int64
	Name      string
	IsDefault bool // the warehouse of products that are created without one
	CreatedAt time.Time
	UpdatedAt time.Time
}

// ReferenceOrders are the columns that references can be sorted by.
var ReferenceOrders = []string{"name", "created_at"}

func (k Kind) columns() string {
	if k == Warehouses {
		return `id, name, is_default, created_at, updated_at`
	}
	return `id, name, false as is_default, created_at, updated_at`
}

// References returns a page of one kind. search is a part of the name, in upper or lower
// case.
func (s *Store) References(
	ctx context.Context, tenant tenancy.ID, kind Kind, search string, o paging.Order, page paging.Page,
) (paging.List[Reference], error) {
	lists, err := s.references(ctx, tenant, []Kind{kind}, search, o, page)
	if err != nil {
		return paging.List[Reference]{}, err
	}
	return lists[0], nil
}

// FirstReferences returns the first references of each kind by name.
func (s *Store) FirstReferences(
	ctx context.Context, tenant tenancy.ID, kinds []Kind, first int,
) ([]paging.List[Reference], error) {
	return s.references(ctx, tenant, kinds, "", paging.Order{By: "name"}, paging.Page{Number: 1, PerPage: first})
}

// references is References for some kinds.
func (s *Store) references(
	ctx context.Context, tenant tenancy.ID, kinds []Kind, search string, o paging.Order, page paging.Page,
) ([]paging.List[Reference], error) {
	lists, counts := make([]paging.List[Reference], len(kinds)), make([][]rowCount, len(kinds))
	err := s.db.Read(ctx, tenant, func(b *pgx.Batch) {
		for i, kind := range kinds {
			// Unlike LIKE, position has no wildcards. The ICU collation maps to lower case in the
			// same way on every server.
			from := `
  from ` + string(kind) + `
 where tenant_id = $1
   and position(lower($2 collate "und-x-icu") in lower(name collate "und-x-icu")) > 0`
			db.QueueRows(b, &counts[i], `
select count(*)`+from, tenant, search)
			db.QueueRows(b, &lists[i].Items, `
select `+kind.columns()+from+fmt.Sprintf(`
 order by %[1]s %[2]s, id %[2]s
 limit $3 offset $4`, sortColumn(o), o.Direction()), tenant, search, page.PerPage, page.Offset())
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kinds, err)
	}
	for i := range lists {
		lists[i].Total = counts[i][0].Count
	}
	return lists, nil
}

// Reference returns a reference. It returns ErrNotFound.
func (s *Store) Reference(ctx context.Context, tenant tenancy.ID, kind Kind, id int64) (Reference, error) {
	r, err := db.One[Reference](ctx, s.db, tenant, `
		select `+kind.columns()+`
		  from `+string(kind)+`
		 where tenant_id = $1 and id = $2`, tenant, id)
	return r, tenancy.Wrap(err, "%s %d", kind, id)
}

// ReferencesByID returns the references that exist.
func (s *Store) ReferencesByID(ctx context.Context, tenant tenancy.ID, kind Kind, ids []int64) ([]Reference, error) {
	found, err := db.All[Reference](ctx, s.db, tenant, `
		select r.*
		  from unnest($2::bigint[]) i (id)
		 cross join lateral (
		       select `+kind.columns()+`
		         from `+string(kind)+`
		        where tenant_id = $1 and id = i.id
		        limit 1
		       ) r`, tenant, ids)
	return found, tenancy.Wrap(err, "read %d %s", len(ids), kind)
}

// CreateReference adds a reference. It returns an InvalidError that includes the errors
// in invalid, which the caller found.
func (s *Store) CreateReference(
	ctx context.Context, tenant tenancy.ID, kind Kind, name Field[string], invalid tenancy.InvalidError,
) (Reference, error) {
	var stored string
	invalid = invalid.Clone()
	requireSet(name, "name", invalid)
	required(name, &stored, "name", invalid, CheckName)
	if len(invalid) > 0 {
		return Reference{}, invalid
	}
	r, err := db.One[Reference](ctx, s.db, tenant, `
		insert into `+string(kind)+` (tenant_id, name)
		values ($1, $2)
		returning `+kind.columns(), tenant, stored)
	return r, tenancy.Wrap(nameTaken(err), "create %s", kind)
}

// RenameReference changes the name if it is set. It returns ErrNotFound or an
// InvalidError.
func (s *Store) RenameReference(
	ctx context.Context, tenant tenancy.ID, kind Kind, id int64, name Field[string], invalid tenancy.InvalidError,
) (Reference, error) {
	var stored string
	invalid = invalid.Clone()
	required(name, &stored, "name", invalid, CheckName)
	if len(invalid) > 0 || !name.Set {
		r, err := s.Reference(ctx, tenant, kind, id)
		if err == nil {
			err = invalid.Err()
		}
		return r, err
	}
	r, err := db.One[Reference](ctx, s.db, tenant, `
		update `+string(kind)+`
		   set name = $3, updated_at = clock_timestamp()
		 where tenant_id = $1 and id = $2
		returning `+kind.columns(), tenant, id, stored)
	return r, tenancy.Wrap(nameTaken(err), "rename %s", kind)
}

// DeleteReference deletes a reference. It returns ErrNotFound, or an InUseError if a product,
// stock or a channel refers to it or it is the default warehouse.
func (s *Store) DeleteReference(ctx context.Context, tenant tenancy.ID, kind Kind, id int64) error {
	var found []struct{ IsDefault bool }
	deleted := false
	err := s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		condition := ``
		if kind == Warehouses {
			condition = ` and not is_default`
			db.QueueRows(b, &found, `
				select is_default
				  from warehouses
				 where tenant_id = $1 and id = $2
				   for update`, tenant, id) // first, like transactions that return stock to it
			b.Queue(`
				delete from stock
				 where tenant_id = $1 and warehouse_id = $2 and quantity = 0`, tenant, id)
		}
		b.Queue(`
			delete from `+string(kind)+`
			 where tenant_id = $1 and id = $2`+condition, tenant, id,
		).Exec(func(tag pgconn.CommandTag) error {
			deleted = tag.RowsAffected() > 0
			return nil
		})
	})
	switch {
	case db.Constraint(err) == "channels_tenant_id_warehouse_id_fkey":
		err = tenancy.InUseError("A channel takes stock from this warehouse")
	case db.SQLState(err) == "23503":
		err = s.inUse(ctx, tenant, kind, id)
	case len(found) > 0 && found[0].IsDefault:
		err = tenancy.InUseError("The default warehouse cannot be deleted")
	case err == nil && !deleted:
		err = tenancy.ErrNotFound
	}
	return tenancy.Wrap(err, "delete %s %d", kind, id)
}

// inUse returns an InUseError with the number of products that use a reference. Products use their own warehouse and
// every warehouse with stock of them.
func (s *Store) inUse(ctx context.Context, tenant tenancy.ID, kind Kind, id int64) error {
	name := map[Kind]string{Categories: "category", Sellers: "seller", Warehouses: "warehouse"}[kind]
	products := `
		(select id
		   from products
		  where tenant_id = $1 and ` + name + `_id = $2
		  limit $3)`
	if kind == Warehouses {
		products += `
		union
		(select product_id
		   from stock
		  where tenant_id = $1 and warehouse_id = $2 and quantity > 0
		  limit $3)
		limit $3`
	}
	uses, err := db.One[struct{ Count int64 }](ctx, s.db, tenant,
		`select count(*) from (`+products+`) as uses`, tenant, id, tenancy.MaxUses+1)
	if err != nil {
		return err
	}
	return tenancy.InUse(uses.Count, "product", name)
}

// DefaultWarehouse returns the default warehouse, and whether a product or stock is in it. In a transaction of Begin no
// other one can use it from then on.
func (s *Store) DefaultWarehouse(ctx context.Context, tenant tenancy.ID) (w Reference, used bool, err error) {
	if _, err := s.db.Exec(ctx, tenant,
		`select from warehouses where tenant_id = $1 and is_default for update`, tenant); err != nil {
		return w, false, tenancy.Wrap(err, "lock the default warehouse")
	}
	type warehouse struct {
		Reference
		Used bool
	}
	found, err := db.One[warehouse](ctx, s.db, tenant, `
		select `+Warehouses.columns()+`,
		       exists (select from products where tenant_id = $1 and warehouse_id = w.id)
		       or exists (select from stock where tenant_id = $1 and warehouse_id = w.id and quantity > 0) as used
		  from warehouses w
		 where tenant_id = $1 and is_default`, tenant)
	return found.Reference, found.Used, tenancy.Wrap(err, "read the default warehouse")
}

// EnsureReferences adds the names that do not exist. It returns the ids of all names and
// how many it added.
func (s *Store) EnsureReferences(
	ctx context.Context, tenant tenancy.ID, kind Kind, names []string,
) (ids map[string]int64, added int, err error) {
	ids, inserted, err := s.ensureReferences(ctx, tenant, kind, names, nil)
	return ids, len(inserted), err
}

// ensureReferences is EnsureReferences; it returns the ids of the names that it added.
func (s *Store) ensureReferences(
	ctx context.Context, tenant tenancy.ID, kind Kind, names []string, newIDs map[string]int64,
) (ids map[string]int64, added map[int64]bool, err error) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	wanted := make([]int64, len(names))
	for i, name := range names {
		wanted[i] = newIDs[name]
	}
	var inserted []rowID
	var all []Reference
	err = s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &inserted, `
			insert into `+string(kind)+` (tenant_id, id, name)
			overriding system value
			select $1, coalesce(nullif(id, 0), nextval('`+string(kind)+`_id_seq')), name
			  from unnest($2::text[], $3::bigint[]) n (name, id)
			on conflict (tenant_id, name) do nothing
			returning id`, tenant, names, wanted)
		db.QueueRows(b, &all, selectNamed(kind), tenant, names)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("add %s: %w", kind, err)
	}
	ids = make(map[string]int64, len(all))
	for _, r := range all {
		ids[r.Name] = r.ID
	}
	return ids, idSet(inserted), nil
}

// selectNamed reads the references with the names $2.
func selectNamed(kind Kind) string {
	return `
		select ` + kind.columns() + `
		  from ` + string(kind) + `
		 where tenant_id = $1 and name = any ($2)`
}

func nameTaken(err error) error {
	if db.SQLState(err) == "23505" {
		return tenancy.InvalidError{"name": {"is already taken"}}
	}
	return err
}
