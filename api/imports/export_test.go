package imports

import (
	"time"

	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Erasure returns the kind of erasures with another length of a turn.
func Erasure(db *db.DB, turn time.Duration) changeplan.Kind {
	return erasure{NewImporter(db, Pictures{}), turn}
}
