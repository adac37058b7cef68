package reports

import "github.com/storeroom/storeroom/tenancy"

// FromFacts returns a store that reads no rollups.
func FromFacts(db *tenancy.DB) *Store { return &Store{db: db, factsOnly: true, maxSoldIDs: maxSoldIDs} }

// WithoutLookups returns a store that selects a page of products from all of them, as if more than
// maxSoldIDs were equal.
func WithoutLookups(db *tenancy.DB) *Store { return &Store{db: db} }
