# Every command a contributor needs. `make` or `make help` lists them.
SHELL := /bin/bash
GO ?= go
FUZZTIME ?= 5s
BENCHTIME ?= 1s
LINT := bin/golangci-lint
MODULES := . bench examples dueqprom dueqotel
TELEMETRY := dueqprom dueqotel
SERVED := . ./store/redisstore ./internal/killtest ./cmd/dueq/...
# What would take the processor for seconds and uses no server.
SERVERLESS := ^TestConsume_OverloadedProcessor$$
# What the race detector has nothing to find in: these tests read files, and run git and the compiler.
UNRACED := ./internal/mutants ./internal/release ./internal/snippets
CROSS ?= windows/amd64 darwin/arm64 linux/arm64
QUICK := -gcflags=all='-N -l -dwarf=false' -ldflags='-s -w'

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

.PHONY: run
run: ## run the demo: a day of flights on the in-memory store
	$(GO) run ./cmd/dueq demo

.PHONY: deps
deps: ## install what the tests need and Go does not bring: redis-server, luacheck
	@.ci/deps

.PHONY: test
test: deps ## install what is missing, then run every test
	$(GO) test -timeout 10m ./...

.PHONY: race
race: deps ## run the tests under the race detector, but for some of one goroutine that take minutes there
	CGO_ENABLED=1 $(GO) test -race -short -vet=off -timeout 15m $$($(GO) list ./... | grep -vxF "$$($(GO) list $(UNRACED))")

.PHONY: servers-test
servers-test: ## run what needs a server on Redis 8.0 and Valkey 8.1, too, which .ci/servers fetches
	@set -e; DUEQ_SERVERS=$$(.ci/servers); export DUEQ_SERVERS; if [ -n "$$DUEQ_SERVERS" ]; then echo "$$DUEQ_SERVERS"; \
	  $(GO) test -count=1 -vet=off -timeout 10m -exec $(CURDIR)/.ci/on-servers -skip '$(SERVERLESS)' $(SERVED); fi

.PHONY: lint
lint: $(LINT) bin/go.work ## check formatting, vet, the linters and the import directions, in every module
	GOWORK=$(CURDIR)/bin/go.work $(LINT) run $(MODULES:%=./%/...)

# With a workspace one run of the linters looks at all modules, and analyses once what all of them import.
bin/go.work: Makefile $(MODULES:%=%/go.mod)
	@mkdir -p bin && rm -f $@ && GOWORK=$(CURDIR)/$@ $(GO) work init $(MODULES)

# vet checks the types of all packages and their tests; make lint does so on linux. Nothing that is built here runs, so
# the compiler does not optimize.
.PHONY: cross
cross: ## vet everything and build dueq for the systems that the tests do not run on
	@set -e; for target in $(CROSS); do echo "$$target"; export GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0; \
	  [ $$GOOS = linux ] || $(GO) vet $(QUICK) ./...; $(GO) build $(QUICK) -o /dev/null ./cmd/dueq; done

.PHONY: format
format: $(LINT) ## format the code
	@set -e; for dir in $(MODULES); do (cd $$dir && $(CURDIR)/$(LINT) fmt ./...); done

.PHONY: generate
generate: ## regenerate docs/REDIS.md from the headers of the Lua scripts, and the pictures of the documents
	$(GO) generate ./...

.PHONY: fuzz
fuzz: ## fuzz every decoder for FUZZTIME each, two at a time
	@grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n 1 dirname | sort -u | xargs -P 2 -n 1 .ci/fuzz $(FUZZTIME)

.PHONY: fault
fault: deps ## kill -9 producers and consumers while flights are delivered, crash stores and disks, compare stores with a model, then check that nothing was lost
	$(GO) test -count=1 -timeout 15m -run TestKill -v ./internal/killtest $(FAULTFLAGS)
	$(GO) test -count=1 -timeout 15m -run TestKill -v ./store/embedded -embedded.kills 50
	$(GO) test -count=1 -timeout 15m -run TestClose_ -v ./store/embedded -embedded.closes 2500
	$(GO) test -count=20 -timeout 15m -run TestThinDevice -v ./store/embedded
	$(GO) test -count=1 -timeout 15m -run 'TestCrash_PowerCut|TestOpen_AfterEachOfManyCrashes|TestRepair_CrashAtAnyPoint|TestCrash_ManyCallers' -v ./store/embedded \
	  -embedded.calls 1000 -embedded.survival 2500 -embedded.repairs 60 -embedded.rounds 200
	$(GO) test -count=1 -timeout 60m -run 'TestConformance$$/Model' -v ./store/embedded -rapid.checks 5000
	$(GO) test -count=1 -timeout 60m -run 'TestConformance_DiskThatFills/Model' -v ./store/embedded -rapid.checks 500
	$(GO) test -count=1 -timeout 60m -run 'TestConformance.*/Model' -v ./store/redisstore -rapid.checks 3000
	$(GO) test -count=1 -timeout 60m -run Model -v ./store/httpstore -rapid.checks 500

.PHONY: topology
topology: deps ## move slots, kill masters and fail over under load, in full (about 5 min; the tests have a short form)
	$(GO) test -count=1 -timeout 30m -run 'TestCluster_|TestSentinel_' -v . \
	  -cluster.moves 200 -cluster.span 10s -sentinel.failovers 7 -parallel 4

.PHONY: mutants
mutants: deps ## break the code, one mistake at a time, and see that a test notices each (some minutes; nightly)
	$(GO) test -count=1 -timeout 60m ./internal/mutants -mutants -parallel 2

.PHONY: bench
bench: deps ## measure dueq beside other queues, about 80 min (PEERFLAGS=-quick: 3 min; needs node, npm, rabbitmq-server)
	cd bench/bullmq && npm ci --ignore-scripts
	cd bench && $(GO) run ./cmd/peers run $(PEERFLAGS)

.PHONY: bench-page
bench-page: ## write docs/COMPARISON.md, its plots and the README's table from a result: make bench-page RESULT=results/DATE.json
	cd bench && $(GO) run ./cmd/peers report -in $(RESULT)

.PHONY: bench-engines
bench-engines: ## measure embedded stores beside each other
	cd bench && $(GO) run ./cmd/engines $(ENGINEFLAGS)

.PHONY: bench-http
bench-http: ## measure dueq serve with clients in another process, about 3 min (HTTPFLAGS="-dir DIR": a store on that disk)
	$(GO) build -o bin/dueq ./cmd/dueq
	cd bench && $(GO) run ./cmd/http -dueq ../bin/dueq $(HTTPFLAGS)

.PHONY: bench-dashboard
bench-dashboard: ## measure the pages of the dashboard on a million messages, about 7 min (DASHBOARDFLAGS="--store file"; needs chromium and npm)
	web/build --libraries
	cd bench && $(GO) build -o ../bin/dashboard ./cmd/dashboard
	DASHBOARD=bin/dashboard node web/test/million.mjs $(DASHBOARDFLAGS)

.PHONY: bench-go
bench-go: deps ## run the Go benchmarks of single parts
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) . ./store/embedded
	cd bench && $(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) -timeout 30m ./micro

.PHONY: bench-scripts
bench-scripts: deps ## measure how long each script keeps Redis from others; fails above the bound (1 min; on a quiet machine)
	$(GO) test -count=1 -run '^$$' -bench Scripts -benchtime 5x ./store/redisstore

.PHONY: bench-test
bench-test: deps ## test the benchmark module
	cd bench && $(GO) test -timeout 10m ./...

.PHONY: telemetry-test
telemetry-test: ## test the modules for metrics and traces, and the alert rules with promtool, which .ci/promtool fetches
	@set -e; DUEQ_PROMTOOL=$$(.ci/promtool); export DUEQ_PROMTOOL; for dir in $(TELEMETRY); do echo "test $$dir"; (cd $$dir && CGO_ENABLED=1 $(GO) test -race -timeout 5m ./...); done

.PHONY: examples-test
examples-test: ## kill each example at every step to see that nothing is lost
	cd examples && $(GO) test -timeout 5m ./...

.PHONY: release
release: ## build a release into dist/, without publishing it: make release VERSION=v1.2.3
	$(GO) run ./internal/release "$(VERSION)"

.PHONY: web
web: bin/esbuild ## build the dashboard from web/ into dueqhttp/ui (needs npm)
	web/build

.PHONY: web-test
web-test: bin/esbuild ## build the dashboard, compare it with what is committed, and use it in a real browser
	@.ci/web

.PHONY: verify
verify: lint cross test race servers-test fuzz bench-test examples-test telemetry-test web-test ## everything that must pass before a change lands
	$(GO) mod verify
	@set -e; for dir in $(MODULES); do $(GO) -C $$dir mod tidy -diff; done
	@git diff --exit-code -- docs/REDIS.md

bin/esbuild: tools/go.mod tools/go.sum
	cd tools && $(GO) build -o ../$@ github.com/evanw/esbuild/cmd/esbuild

$(LINT): tools/go.mod tools/go.sum
	cd tools && $(GO) build -o ../$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint
