# Every target with a comment after ## is listed by `make help`.

# The directory that Go's installer uses is often missing from root's PATH.
export PATH := $(PATH):/usr/local/go/bin

VERSION := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
GOBUILD := go build -trimpath -buildvcs=false

# Packages for the private servers. A server named in the environment needs none.
RUN_NEEDS  := $(if $(DATABASE_URL),,postgresql) $(if $(REDIS_URL),,redis)
TEST_NEEDS := $(if $(STOREROOM_TEST_DATABASE_URL),,postgresql) $(if $(REDIS_URL),,redis) chromium

# Packages whose tests use the database.
CITUS_PACKAGES := ./api/... ./catalog/... ./cmd/storeroom/... ./keys/... ./reports/... ./tenancy/...

# Duration of each fuzz target.
FUZZTIME := 30s

.DEFAULT_GOAL := help
.PHONY: help run build test test-ops test-citus test-contract race screenshots bench check vuln fuzz go test-servers

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' $(MAKEFILE_LIST) | expand -t 10

run: build ## start private servers, create the demo shop and serve it
	@sh deploy/local/install.sh $(RUN_NEEDS)
	@exec bin/storeroom dev

build: go ## build bin/storeroom
	$(GOBUILD) -ldflags '-X main.version=$(VERSION)' -o bin/storeroom ./cmd/storeroom

# The limiter's tests run only first and alone, because they need Redis to answer within
# 50 ms, which fails while other tests use all CPUs. `make check` vets, and without data for debuggers programs are linked
# sooner.
test: test-servers ## run all tests against temporary servers
	exec bin/with-servers sh -c 'go test -vet=off -ldflags=-w ./ratelimit && \
		exec go test -vet=off -ldflags=-w -timeout 25m $$(go list ./... | grep -v /ratelimit$$)'

# One package at a time, because these tests measure and print times. The S3 server is not in go.mod, because the program
# does not need its modules.
test-ops: export PATH := $(CURDIR)/bin:$(PATH)
test-ops: go ## run the operational tests: servers killed under load, rolling restart, replicas and failover, PgBouncer, the previous release, Redis Cluster, S3, attacks (30 to 90 minutes)
	@sh deploy/local/install.sh postgresql redis haproxy nginx caddy pgbouncer prometheus shellcheck systemd
	GOBIN='$(CURDIR)/bin' go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
	@$(GOBUILD) -o bin/with-servers ./deploy/local/run
	exec bin/with-servers sh -c 'go test -tags ops -count=1 -v -parallel 1 -timeout 60m -run "^Test(PlansDo|AReaderOfChanges|Released)" ./api ./reports && \
		exec go test -tags ops -p 1 -count=1 -v -timeout 90m \
			./catalog/media ./tenancy/webhooks ./cmd/bench ./cmd/storeroom/ops ./ratelimit ./deploy/...'

# The packages of the service on a cluster, then the tests of the cluster.
test-citus: test-servers ## run the tests on a Citus cluster of three nodes (STOREROOM_CITUS or STOREROOM_CITUS_SOURCE says where Citus is)
	@STOREROOM_CITUS=$$(sh deploy/citus/find.sh '$(CURDIR)/.local/citus') && export STOREROOM_CITUS && \
		exec bin/with-servers sh -c 'go test -timeout 90m $(CITUS_PACKAGES) && \
			exec go test -tags "ops citus" -p 1 -count=1 -v -timeout 90m -run "^TestCitus" ./cmd/storeroom/ops'

# Generates clients, which are not committed, with the versions that api/clients names.
test-contract: go ## generate clients of the API in Go and TypeScript, let them drive the service, and lint openapi.yaml (needs the network)
	@sh deploy/local/install.sh $(RUN_NEEDS) npm
	@$(GOBUILD) -o bin/with-servers ./deploy/local/run
	exec bin/with-servers go test -tags contract -count=1 -v -parallel 1 -timeout 60m -run '^Test(AGenerated|TheDocumentIsOpenAPI31$$)' ./api

# The race detector needs more memory than these tests allow a child process.
race: test-servers ## run the tests with the race detector (needs a C compiler)
	exec bin/with-servers go test -race -timeout 30m -skip '^Test(LargePicturesAreRefused|AChildHasAMemoryLimit)' ./...

screenshots: test-servers ## write screenshots of every settings page, and those of the README, to .local/screenshots
	@exec bin/with-servers go test -count=1 -run '^Test(EveryPage|AnImport)' ./api/pages/browser -screenshots '$(CURDIR)/.local/screenshots'

bench: build ## run benchmarks on 1,000,000 products and 2,000,000 orders (10 minutes, 6 more the first time): make bench BENCH='-run ^get -clients 8', with BENCH='-against main' beside another commit, with BENCH=-duckdb beside DuckDB
	@sh deploy/local/install.sh postgresql redis
	@$(GOBUILD) -o bin/bench ./cmd/bench
	@exec bin/bench $(BENCH)

check: go ## gofmt, vet, staticcheck and the import rules
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not gofmt'ed:"; echo "$$unformatted"; exit 1; }
	go vet -tags ops,contract ./...
	go vet -tags fuzz ./api
	go tool staticcheck -tags ops,contract ./...
	go test -run '^TestImportArrows$$' ./cmd/storeroom

vuln: go ## check for known vulnerabilities (needs the network)
	go tool govulncheck ./...

fuzz: test-servers ## run each fuzz target for FUZZTIME (30s)
	@grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sort | while IFS=: read -r file func; do \
		bin/with-servers go test -tags fuzz -run '^$$' -fuzz "^$${func#func }\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")" </dev/null || exit 1; \
	done

# Not `go run`, which does not forward signals.
test-servers: go
	@sh deploy/local/install.sh $(TEST_NEEDS)
	@$(GOBUILD) -o bin/with-servers ./deploy/local/run

go:
	@command -v go >/dev/null || { echo "Go 1.26 or later is not installed: see https://go.dev/dl/" >&2; exit 1; }
