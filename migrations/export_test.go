package migrations

// ReadObjects is for tests of package migrations_test.
var ReadObjects = readObjects
