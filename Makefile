# make help shows what there is. Everything finds or installs what it needs.
.DEFAULT_GOAL := help
GO     ?= go
ARGS   ?=
FUZZTIME ?= 60s
SEEDS  ?= 100000
DURATION ?= 10m
PARALLEL ?= 4
STATIC := $(GO) run -modfile=tools/go.mod honnef.co/go/tools/cmd/staticcheck
PEERSTATIC := $(GO) run -modfile=../../tools/go.mod honnef.co/go/tools/cmd/staticcheck

.PHONY: help
help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: dev
dev: build postgres ## everything on this machine, money moving: make dev ARGS='--intents 50 --exit'
	@bin/relayer dev $(ARGS)

.PHONY: test
test: postgres faults browser ## every test, against real parts it starts itself
	$(GO) test -race -shuffle=on -parallel $(PARALLEL) -timeout 20m ./...
	$(GO) test -timeout 10m ./relayer/simtest
	cd bench/peers && $(GO) test -race -shuffle=on -timeout 10m ./...
	cd deploy/check && $(GO) test -timeout 10m ./...

.PHONY: check
check: ## format, vet, modernizers, staticcheck, tidiness
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -d $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	cd deploy/check && $(GO) vet ./... && $(GO) mod tidy -diff
	$(GO) fix -diff ./...
	$(GO) mod tidy -diff
	$(STATIC) ./...
	cd bench/peers && $(GO) vet ./... && $(GO) fix -diff ./... && $(GO) mod tidy -diff && $(PEERSTATIC) ./...

.PHONY: lint
lint: check ## the same as check

.PHONY: build
build: ## bin/relayer
	@test -x bin/relayer || echo 'building bin/relayer; from an empty build cache this takes some minutes' >&2
	@$(GO) build -v -o bin/relayer ./cmd/relayer

.PHONY: fuzz
fuzz: ## fuzz the message codec for a minute
	$(GO) test -run '^$$' -fuzz FuzzDecode -fuzztime $(FUZZTIME) -fuzzminimizetime 20x ./intents

.PHONY: simulate
simulate: ## play the engine against a world that goes wrong: make simulate SEEDS=100000
	@$(GO) test -c -o bin/simulate ./relayer/simtest
	@bin/simulate -test.run '^TestSimulate$$' -test.timeout 0 -seeds $(SEEDS)

.PHONY: soak
soak: build postgres ## kill processes and parts of the real thing under load: make soak DURATION=10m
	@$(GO) build -o bin/soak ./cmd/soak
	@bin/soak -relayer bin/relayer -duration $(DURATION) $(ARGS)

.PHONY: bench
bench: postgres ## the benchmarks of all packages
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-evm
bench-evm: postgres ## the relayer against a bare loop of eth_sendRawTransaction, on one node
	@$(GO) run ./cmd/bench-evm $(ARGS)

.PHONY: bench-peers
bench-peers: build postgres ## the relayer against River, a row by row consumer, and its own store alone
	@cd bench/peers && $(GO) build -o ../../bin/bench-peers .
	@bin/bench-peers $(ARGS)

.PHONY: postgres
postgres: ## install a Postgres server, if there is none
	@.ci/postgres

.PHONY: faults
faults: ## install pgbouncer and libfaketime, which tests break Postgres with, if they are not there
	@.ci/faults

.PHONY: browser
browser: ## install chromium, which tests open the console in, if there is no browser
	@.ci/browser
