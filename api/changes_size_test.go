//go:build !ops

package api

const changeHistories = 6 // of TestAReaderOfChangesHasTheObjectsOfTheDatabase
