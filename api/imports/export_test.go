package imports

import (
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// Erasure returns the kind of erasures with another length of a turn.
func Erasure(db *tenancy.DB, turn time.Duration) changeplan.Kind { return erasure{db, turn} }
