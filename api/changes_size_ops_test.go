//go:build ops

package api

const changeHistories = 1000 // of TestAReaderOfChangesHasTheObjectsOfTheDatabase, in `make test-ops`
