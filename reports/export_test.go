package reports

import (
	"context"

	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// FromFacts returns a store that reads no rollups.
func FromFacts(db *db.DB) *Store {
	s := New(db)
	s.factsOnly = true
	return s
}

// WithoutLookups returns a store that looks up no products or customers one by one, as if there were too many.
func WithoutLookups(db *db.DB) *Store {
	s := New(db)
	s.maxSoldIDs = 0
	return s
}

// CheckOverview checks whether an empty overview is unchanged.
func (s *Store) CheckOverview(ctx context.Context, t tenants.Tenant, q OverviewQuery) (Overview, error) {
	s.overviews.add(t.ID, q, Overview{}, overviewState{})
	_, err := s.unchanged(ctx, t.ID, q)
	return Overview{}, err
}
