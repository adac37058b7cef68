package reports

import "github.com/storeroom/storeroom/tenancy"

// FromFacts returns a store that reads no rollups.
func FromFacts(db *tenancy.DB) *Store { return &Store{db: db, factsOnly: true, maxSoldIDs: maxSoldIDs} }

// WithoutLookups returns a store that looks up no products or customers one by one, as if there were too many.
func WithoutLookups(db *tenancy.DB) *Store { return &Store{db: db} }
