//go:build !ops

package api

const changeHistories = 12 // of TestAReaderOfChangesHasTheObjectsOfTheDatabase
