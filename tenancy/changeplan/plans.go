package changeplan

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// Plans are the plans of one kind. Get and the methods that change a plan return tenancy.ErrNotFound for a plan of
// another kind.
type Plans struct {
	*Store
	of string // the kind
}

// Of returns the plans of a kind.
func (s *Store) Of(kind string) Plans { return Plans{s, kind} }

// On returns the plans that work on d.
func (p Plans) On(d *db.DB) Plans { return Plans{p.Store.On(d), p.of} }

// Summary is a plan with the numbers of its rows.
type Summary struct {
	Plan
	Counts   map[RowKind]Counts
	Progress Progress
}

// Progress is the progress in the current state. Of is nil while the files are read.
type Progress struct {
	Rows int64  `json:"rows"`
	Of   *int64 `json:"of"`
}

// Sum returns the numbers of rows of all kinds.
func (s Summary) Sum() (sum Counts) {
	for _, of := range s.Counts {
		sum = sum.plus(of)
	}
	return sum
}

// Get returns a plan, or tenancy.ErrNotFound.
func (p Plans) Get(ctx context.Context, tenant tenancy.ID, id int64) (Summary, error) {
	plan, err := p.Find(ctx, tenant, id)
	if err != nil {
		return Summary{}, err
	}
	parts, err := p.PartCounts(ctx, tenant, id)
	s := Summary{Plan: plan, Counts: map[RowKind]Counts{}}
	var all, applied int64
	for _, part := range parts {
		s.Counts[part.Kind] = s.Counts[part.Kind].plus(part.Counts)
		all += part.Total()
		if part.Part < plan.NextPart {
			applied += part.Total()
		}
	}
	switch plan.State {
	case Planning:
		s.Progress.Rows = all
	case Undoing, Undone:
		s.Progress = Progress{all - applied, &all}
	default:
		s.Progress = Progress{applied, &all}
	}
	return s, err
}

// Find returns a plan without the numbers of its rows, or tenancy.ErrNotFound.
func (p Plans) Find(ctx context.Context, tenant tenancy.ID, id int64) (Plan, error) {
	plan, _, err := p.find(ctx, tenant, id)
	return plan, err
}

// find returns a plan of the kind, and the kind.
func (p Plans) find(ctx context.Context, tenant tenancy.ID, id int64) (plan Plan, kind Kind, err error) {
	if plan, err = p.Store.Get(ctx, tenant, id); err == nil && plan.Kind != p.of {
		err = tenancy.ErrNotFound
	}
	if err == nil {
		kind, err = p.kind(plan)
	}
	return plan, kind, err
}

// List returns a page of the plans, the newest first.
func (p Plans) List(ctx context.Context, tenant tenancy.ID, page paging.Page) (paging.List[Plan], error) {
	plans := []Plan{}
	var counts []struct{ Count int64 }
	err := p.db.Read(ctx, tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &counts, `select count(*) from change_plans where tenant_id = $1 and kind = $2`, tenant, p.of)
		db.QueueRows(b, &plans, `
			select `+planColumns+`
			  from change_plans
			 where tenant_id = $1 and kind = $2
			 order by id desc
			 limit $3 offset $4`, tenant, p.of, page.PerPage, (page.Number-1)*page.PerPage)
	})
	if err != nil {
		return paging.List[Plan]{}, wrap(err, "list plans")
	}
	return paging.List[Plan]{Items: plans, Total: counts[0].Count}, nil
}

// Rows returns a page of the rows of a plan. Rows of an applied part have what happened to them.
func (p Plans) Rows(
	ctx context.Context, tenant tenancy.ID, id int64, f RowFilter,
) (list paging.List[Row], err error) {
	err = p.db.ReadAtOnce(ctx, tenant, func(ctx context.Context, d *db.DB) error {
		list = paging.List[Row]{Items: []Row{}}
		return p.On(d).readRows(ctx, tenant, id, f, &list)
	})
	return list, err
}

// stage returns how far the rows of a part are.
func (p Plan) stage(part Part) Stage {
	switch {
	case part.Part < p.NextPart:
		return IsApplied
	case (p.State == Undoing || p.State == Undone) && part.Result != nil:
		return IsUndone
	}
	return IsPlanned
}

func (p Plans) readRows(ctx context.Context, tenant tenancy.ID, id int64, f RowFilter, list *paging.List[Row]) error {
	plan, err := p.Find(ctx, tenant, id)
	if err != nil {
		return err
	}
	var details struct {
		Unread map[int32]int64 // by part, the rows that were refused before anything stored was read
	}
	if err := json.Unmarshal(plan.Details, &details); err != nil {
		return wrap(err, "read the details of the plan %d", id)
	}
	parts, err := p.PartCounts(ctx, tenant, id)
	if err != nil {
		return err
	}
	skip, want := f.Page.Offset(), f.Page.PerPage
	for _, of := range parts {
		n := f.count(of, details.Unread[of.Part])
		list.Total += n
		if n <= skip {
			skip -= n
			continue
		}
		if len(list.Items) == want {
			continue
		}
		part, err := p.Part(ctx, tenant, id, of.Part)
		if err != nil {
			return err
		}
		rows, err := DecodeApplied(part, func(row *Row) *Row { return row })
		if err != nil {
			return err
		}
		stage := plan.stage(part)
		for _, row := range rows {
			row.Stage = stage
			switch {
			case !f.selects(row) || len(list.Items) == want:
			case skip > 0:
				skip--
			default:
				list.Items = append(list.Items, row)
			}
		}
	}
	return nil
}
