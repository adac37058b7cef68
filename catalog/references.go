package catalog

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// Kind is one of the lists that products refer to: its value is the table's name.
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
	IsDefault bool // the warehouse where products without one live
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

// References returns a page of one kind; search filters by a substring of the
// name, in any case.
func (s *Store) References(ctx context.Context, tenant tenancy.ID, kind Kind, search string, o paging.Order, p paging.Page) (paging.List[Reference], error) {
	var page paging.List[Reference]
	var counts []counted
	// position, not like: wild cards are ordinary characters. The collation folds
	// case the same on every machine.
	const where = ` where tenant_id = $1 and position(lower($2 collate "und-x-icu") in lower(name collate "und-x-icu")) > 0`
	err := s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		tenancy.QueueRows(b, &counts, `select count(*) from `+string(kind)+where, tenant, search)
		tenancy.QueueRows(b, &page.Items, fmt.Sprintf(`select %s from %s`+where+` order by %s %[4]s, id %[4]s limit $3 offset $4`,
			kind.columns(), kind, column(o), o.Direction()), tenant, search, p.PerPage, p.Offset())
	})
	if err != nil {
		return page, fmt.Errorf("list %s: %w", kind, err)
	}
	page.Total = counts[0].Count
	return page, nil
}

// Reference returns one. It returns ErrNotFound.
func (s *Store) Reference(ctx context.Context, tenant tenancy.ID, kind Kind, id int64) (Reference, error) {
	r, err := tenancy.One[Reference](ctx, s.db, tenant,
		`select `+kind.columns()+` from `+string(kind)+` where tenant_id = $1 and id = $2`, tenant, id)
	return r, wrap(err, "%s %d", kind, id)
}

// CreateReference adds one. It returns an InvalidError; faults are those that the
// caller found already.
func (s *Store) CreateReference(ctx context.Context, tenant tenancy.ID, kind Kind, name Field[string], faults tenancy.InvalidError) (Reference, error) {
	if !name.Set {
		missing("name", faults)
	}
	stored, err := referenceName(name, faults)
	if err != nil {
		return Reference{}, err
	}
	r, err := tenancy.One[Reference](ctx, s.db, tenant,
		`insert into `+string(kind)+` (tenant_id, name) values ($1, $2) returning `+kind.columns(), tenant, stored)
	return r, nameTaken(err, "create %s", kind)
}

// RenameReference changes what is set. It returns ErrNotFound or an InvalidError.
func (s *Store) RenameReference(ctx context.Context, tenant tenancy.ID, kind Kind, id int64, name Field[string], faults tenancy.InvalidError) (Reference, error) {
	stored, err := referenceName(name, faults)
	if err != nil {
		if _, missing := s.Reference(ctx, tenant, kind, id); missing != nil {
			return Reference{}, missing
		}
		return Reference{}, err
	}
	if !name.Set {
		return s.Reference(ctx, tenant, kind, id)
	}
	r, err := tenancy.One[Reference](ctx, s.db, tenant, `
		update `+string(kind)+` set name = $3, updated_at = clock_timestamp()
		 where tenant_id = $1 and id = $2
		returning `+kind.columns(), tenant, id, stored)
	return r, nameTaken(err, "rename %s", kind)
}

// DeleteReference removes one that nothing refers to. It returns ErrNotFound, or
// ErrInUse when a product or stock is there or it is the default warehouse.
func (s *Store) DeleteReference(ctx context.Context, tenant tenancy.ID, kind Kind, id int64) error {
	var deleted []found
	var defaults []found
	err := s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		if kind == Warehouses {
			tenancy.QueueRows(b, &defaults, `select id from warehouses where tenant_id = $1 and id = $2 and is_default`, tenant, id)
			b.Queue(`delete from stock where tenant_id = $1 and warehouse_id = $2 and quantity = 0`, tenant, id)
			tenancy.QueueRows(b, &deleted, `delete from warehouses where tenant_id = $1 and id = $2 and not is_default returning id`, tenant, id)
			return
		}
		tenancy.QueueRows(b, &deleted, `delete from `+string(kind)+` where tenant_id = $1 and id = $2 returning id`, tenant, id)
	})
	switch {
	case tenancy.SQLState(err) == "23503" || len(defaults) > 0:
		err = ErrInUse
	case err == nil && len(deleted) == 0:
		err = tenancy.ErrNotFound
	}
	return wrap(err, "delete %s %d", kind, id)
}

// EnsureReferences returns the ids of names, adding those that are missing, and
// how many it added.
func (s *Store) EnsureReferences(ctx context.Context, tenant tenancy.ID, kind Kind, names []string) (ids map[string]int64, added int, err error) {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	var inserted []found
	var all []Reference
	err = s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		tenancy.QueueRows(b, &inserted, `
			insert into `+string(kind)+` (tenant_id, name) select $1, unnest($2::text[])
			on conflict (tenant_id, name) do nothing returning id`, tenant, names)
		tenancy.QueueRows(b, &all, `select `+kind.columns()+` from `+string(kind)+` where tenant_id = $1 and name = any ($2)`, tenant, names)
	})
	if err != nil {
		return nil, 0, fmt.Errorf("add %s: %w", kind, err)
	}
	ids = make(map[string]int64, len(all))
	for _, r := range all {
		ids[r.Name] = r.ID
	}
	return ids, len(inserted), nil
}

// CheckName returns the stored form of a reference's name, or what is wrong.
func CheckName(name string) (string, string) { return tenancy.Label(name, 255) }

func referenceName(name Field[string], faults tenancy.InvalidError) (string, error) {
	var stored string
	required(name, &stored, "name", faults, CheckName)
	return stored, faults.Err()
}

func nameTaken(err error, format string, args ...any) error {
	if tenancy.SQLState(err) == "23505" {
		err = tenancy.InvalidError{"name": {"is already taken"}}
	}
	return wrap(err, format, args...)
}
