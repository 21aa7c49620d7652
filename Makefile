# Everything here runs on a machine with Go alone; what else is needed is
# installed into .cache/bin and internal/test/npm, and Debian packages when root.

GO        ?= go
BIN       := $(CURDIR)/.cache/bin
GOLANGCI  := v2.15.0
GOFUMPT   := v0.12.0
GOVULN    := v1.9.0
FUZZTIME  ?= 10s

# Most tests wait for the disk: Postgres and the data file sync each commit. Where memory
# has room, folders of tests are there. No test cuts the power, so the disk shows nothing
# more: what a killed process has written stays in both.
MEMORY    := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 6000000 && $$6 == "/dev/shm" { print $$6 }')
MEMORY    := $(if $(MEMORY),$(shell grep -q '^[^ ]* /dev/shm [^ ]* [^ ]*noexec' /proc/mounts || echo $(MEMORY)))
ifneq ($(MEMORY),)
test race whole simulate kills: export TMPDIR := $(MEMORY)
test race whole simulate kills: export GOTMPDIR ?= /tmp
endif

# make soak: how long with each client, or how many kills in all when KILLS is set,
# and where it starts; without kills for HOURS when that is set.
SOAK      ?= 10m
KILLS     ?=
HOURS     ?=
SEED      ?= 1
CLIENT    ?= all
STORE     ?=

.PHONY: help
help: ## print this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

.PHONY: demo
demo: ## ask the offline model something that needs planning
	$(GO) run ./cmd/legwork demo "What is 17*23, and what time is it in Tokyo and in Paris?"

.PHONY: build
build: ## build the static binary ./legwork
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o legwork ./cmd/legwork

.PHONY: test
test: ## run the quick tests: Go alone, two minutes
	$(GO) test ./...

.PHONY: check
check: setup format vet lint race whole simulate kills ## all that must be green before a commit; skips nothing

.PHONY: format
format: $(BIN)/gofumpt-$(GOFUMPT)
	@files=$$($(BIN)/gofumpt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	if [ -n "$$files" ]; then echo "not formatted; run make fmt:"; echo "$$files"; exit 1; fi

.PHONY: console
console: ## bundle the page in the browser: web/console/src becomes web/console/dist
	cd web/console/build && $(GO) run .

.PHONY: fmt
fmt: $(BIN)/gofumpt-$(GOFUMPT) ## format all Go files
	$(BIN)/gofumpt -w $$(git ls-files --cached --others --exclude-standard '*.go')

.PHONY: vet
vet:
	$(GO) vet ./...
	$(GO) vet -tags failpoints ./...

.PHONY: lint
lint: $(BIN)/golangci-lint-$(GOLANGCI) ## look for known mistakes
	$(BIN)/golangci-lint run --allow-parallel-runners ./...

# The scan of the modules alone is fast and shows whether the database can be reached.
.PHONY: vuln
vuln: $(BIN)/govulncheck-$(GOVULN) ## ask the Go vulnerability database about the toolchain and all modules
	@if $(BIN)/govulncheck -scan module 2>&1 | grep -q 'fetching vulnerabilities'; then \
		echo "vuln: skipped, because the database at vuln.go.dev cannot be reached"; \
	else $(BIN)/govulncheck ./...; fi

.PHONY: race
race: ## run the quick tests with the race detector, but for those that only read the source or start no goroutine
	GORACE=atexit_sleep_ms=10 $(GO) test -race -vet=off -count=1 -timeout 25m -p 3 $$($(GO) list ./... | grep -vxE 'legwork|legwork/files/write')

# Packages that say what they need or leave out run again, as a whole. What
# simulate and kills run is left to them. The target vet says more than go test about
# all packages, so that these do without.
.PHONY: whole
whole: ## run the slow tests: the real binary, servers from npm, tmux, Chromium, all random cases
	LEGWORK_REQUIRE_ALL=1 $(GO) test -vet=off -count=1 -timeout 25m -p 3 -skip '^(TestKills|TestKillsOnPostgres|TestPlantedFaults|TestPlantedFaultOnPostgres|TestSimulation|TestSimulationOnPostgres|TestManyTasksLeaveNothing)$$' \
		$$(grep -rlE --include='*_test.go' 'need\.(All|Check|Checks|Command|NPM|NPMPackage|Node22|Quick|Times|Tmux)\(|"legwork/(internal/test/(browser|pg)|store/storetest)"' . | xargs -n 1 dirname | sort -u)

.PHONY: simulate
simulate: ## run the engine through 3,000 simulated worlds with crashes, 150 of them on Postgres too, and 10,000 tasks
	LEGWORK_REQUIRE_ALL=1 $(GO) test -vet=off -count=1 -timeout 25m -run '^(TestSimulation|TestSimulationOnPostgres|TestManyTasksLeaveNothing)$$' \
		./tasks/engine -seeds 3000 -postgres-seeds 150 -tasks 10000

.PHONY: kills
kills: ## kill the real binary in the terminal, Telegram, Slack, the browser and with programs, 24 times each, 10 on Postgres, and judge what it lost
	LEGWORK_REQUIRE_ALL=1 $(GO) test -vet=off -count=1 -timeout 30m -parallel 5 -v -run '^(TestKills|TestKillsOnPostgres|TestPlantedFaults|TestPlantedFaultOnPostgres)$$' ./internal/test/harness -kills 24 -postgres-kills 10 -faults

.PHONY: soak
soak: ## kill it for SOAK=10m, or KILLS=10000 times, from SEED=1 on, in CLIENT=terminal, telegram, slack, api, web or all, on a data file or STORE=postgres, or look for growth for HOURS=1, and print a report
	$(GO) run ./internal/test/harness/soak -client $(CLIENT) -store "$(STORE)" -seed $(SEED) $(if $(HOURS),-steady $(HOURS)h,$(if $(KILLS),-kills $(KILLS),-for $(SOAK)))

.PHONY: bench
bench: ## measure, each figure next to its limit
	$(GO) run ./internal/test/bench

.PHONY: benchmarks
benchmarks: ## run the benchmarks of the packages
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME=10s
	@grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u | while read -r dir; do \
		for target in $$(grep -h '^func Fuzz' $$dir/*_test.go | sed 's/func \(Fuzz[A-Za-z0-9_]*\).*/\1/'); do \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$dir || exit 1; \
		done; done

.PHONY: setup
setup: ## install what the checks need and is missing
	internal/test/setup

$(BIN)/golangci-lint-$(GOLANGCI):
	GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	rm -f $(BIN)/golangci-lint-v* && ln $(BIN)/golangci-lint $@

$(BIN)/govulncheck-$(GOVULN):
	GOBIN=$(BIN) $(GO) install golang.org/x/vuln/cmd/govulncheck@$(GOVULN)
	rm -f $(BIN)/govulncheck-v* && ln $(BIN)/govulncheck $@

$(BIN)/gofumpt-$(GOFUMPT):
	GOBIN=$(BIN) $(GO) install mvdan.cc/gofumpt@$(GOFUMPT)
	rm -f $(BIN)/gofumpt-v* && ln $(BIN)/gofumpt $@

.PHONY: clean
clean: ## remove what was built
	rm -rf legwork .cache internal/test/npm/node_modules
