package db

// TestReplicas makes the periodic test of replicas now.
func (db *DB) TestReplicas() { db.replicas.test() }
