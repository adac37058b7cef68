module github.com/storeroom/storeroom/api/sdk/go

go 1.24
