package textfill

import (
	"context"
	"fmt"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/searchtext"
)

// stored is an object with its text, which is nil if it is missing or of another version.
type stored struct {
	ID        int64
	Fields    []string
	Text      *string
	IsWaiting bool // Fill will visit the object
}

// Verify compares the stored texts with those of the rule, and returns at most limit differences. A missing text is one
// unless it waits for Fill.
func (k Kind) Verify(
	ctx context.Context, pool *db.DB, tenant tenancy.ID, limit int,
) (different []tenancy.Difference, err error) {
	err = db.Walk(ctx, pool, tenant, `
		select o.id, array_remove(`+k.Fields+`, null) as fields,
		       (select t.text from `+k.Texts+` t where t.tenant_id = $1 and t.`+k.ID+` = o.id and t.version = $3) as text,
		       exists (select from unfilled_texts u
		                where u.tenant_id = $1 and u.kind = $4 and u.first_id <= o.id and u.last_id >= o.id) as is_waiting
		  from `+k.Table+` o
		 where o.tenant_id = $1 and o.id > $2
		 order by o.id
		 limit 500`, []any{int64(0), searchtext.Version, k.Name},
		func(s stored) []any { return []any{s.ID, searchtext.Version, k.Name} },
		func(s stored) error {
			if want := searchtext.Text(s.Fields...); len(different) < limit && !s.IsWaiting &&
				(s.Text == nil || *s.Text != want) {
				d := tenancy.Difference{ // without the texts, which can be personal data
					What: fmt.Sprintf("%s %d", k.Name, s.ID), Figure: "search text", Stored: "missing", Facts: "that of its fields",
				}
				if s.Text != nil {
					d.Stored = "differs"
				}
				different = append(different, d)
			}
			return nil
		})
	return different, tenancy.Wrap(err, "verify the search texts of the kind %q", k.Name)
}
