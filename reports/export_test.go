package reports

import "github.com/storeroom/storeroom/tenancy"

// FromFacts returns a store that reads no rollups.
func FromFacts(db *tenancy.DB) *Store { return &Store{db: db, factsOnly: true} }
