package reports

import "github.com/storeroom/storeroom/tenancy"

// FromFacts returns reports that read no rollups.
func FromFacts(db *tenancy.DB) *Store { return &Store{db: db, facts: true} }
