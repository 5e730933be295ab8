# make help lists the targets. Everything but interop, bench-rivals and soak needs only Go, make and a C compiler.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
export GOFLAGS ?=

GO        ?= go
DATA      ?= ./data
ARGS      ?=
FUZZTIME  ?= 20s
SEED      ?= $(shell git rev-parse --short=8 HEAD 2>/dev/null || echo 1)
STEPS     ?= 20000
ROUNDS    ?= 5
TOOL      := $(GO) tool -modfile=internal/tools/pinned/go.mod
# The race detector needs cgo and a C compiler; without them the tests run with the costly checks alone.
RACE      := $(shell CGO_ENABLED=1 $(GO) env CGO_ENABLED 2>/dev/null | grep -q 1 && echo 'int main(void){return 0;}' | $${CC:-cc} -x c - -o /dev/null 2>/dev/null && echo yes)
ifeq ($(RACE),yes)
CHECKED   := CGO_ENABLED=1 $(GO) test -race
else
CHECKED   := $(GO) test -tags invariants
endif

.PHONY: help build run test race release-test lint lint-full fuzz-smoke sim sim-ci sim-soak mutants power-cut disk-faults bench bench-latency bench-rivals bench-compare lab-tiny lab-check measuring \
	gen gen-check cover cross ci interop interop-prepare old-clients differential differential-self zookeeper modes modes-short zk-sim zk-linear zk-linear-short zk-linear-apache zk-three zk-five zk-kafka zk-kafka-short zk-clients zk-docs zk-surface topic-id bench-zk bench-storage golden-kafka golden-kafka-short kill-loop moving test-giouring soak clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## bin/pelton, one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/pelton ./cmd/pelton

run: build ## build, then broker on 127.0.0.1:9092 and coordination on 127.0.0.1:2181, data in DATA (./data); ARGS="--listen HOST:PORT ..."
	exec bin/pelton server --data-dir $(DATA) $(ARGS)

test: ## every test of the product, with the race detector where it can run
	$(CHECKED) -short -timeout 20m ./...

race: ## the same without -short, race detector required
	CGO_ENABLED=1 $(GO) test -race -timeout 30m ./...

release-test: ## the tests on the code that ships: no tags, no race detector
	CGO_ENABLED=0 $(GO) test -short -timeout 20m ./...

lint: ## formatting, vet, arrows between packages, sizes, banned calls, docs
	@un=$$(gofmt -l $$(git ls-files '*.go' | grep -v /testdata/)); [ -z "$$un" ] || { echo "not gofmt-ed:"; echo "$$un"; exit 1; }
	$(GO) vet ./...
	$(GO) test ./internal/lint

lint-full: lint ## lint, and staticcheck as pinned in internal/tools/pinned
	$(TOOL) staticcheck ./...

fuzz-smoke: ## each fuzz target for FUZZTIME (20s)
	@grep -rl --include='*_test.go' '^func Fuzz' --exclude-dir=interop . | sort -u | while read -r file; do \
		for name in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$$file"); do \
			echo "fuzz $$name in $$(dirname "$$file")"; \
			internal/tools/fuzz.sh "$$name" $(FUZZTIME) "$$(dirname "$$file")" || exit 1; \
		done; done

sim: ## the seeded simulator: SEED=, STEPS=
	@if [ -d internal/sim ]; then $(GO) test -tags invariants -run '^TestSim' -count 1 ./internal/sim -args -seed $(SEED) -steps $(STEPS); \
	else echo "there is no simulator in this tree yet"; fi

sim-ci: ## the simulator for a change: 300 seeds that never change, so that a red one is the change's; make sim-soak plays new ones
	$(GO) test -tags invariants -run '^TestSim' -count 1 -timeout 20m ./internal/sim -args -seed 1 -seeds 300 -steps 1000

mutants: ## deliberate bugs in a copy of the tree, each of which the simulator must notice
	$(GO) run ./internal/tools/mutants

sim-soak: ## the simulator with new seeds until it is stopped
	@while $(MAKE) --no-print-directory sim SEED=$$RANDOM$$RANDOM; do :; done

HISTORY   ?= benchmarks/history.jsonl
bench: bin/bench ## every figure against its floor; appends to HISTORY, benchmarks/history.jsonl (below 10 minutes); BENCH= more flags
	bin/bench -not '^(zk|compact|hot-beside)' -history $(HISTORY) $(BENCH)

bench-latency: bin/bench ## latency rows with 100 000 samples a side and more (about 30 minutes)
	bin/bench -rows '^latency' -latency 12s -pairs 10 -history $(HISTORY) $(BENCH)

RIVALS    ?= 4.2.0,3.9.1,nats,redis,rabbitmq
bench-rivals: bin/bench ## beside Kafka, NATS, Redis and RabbitMQ: RIVALS= says whom (needs Java and Maven; redis-server, rabbitmq-server); who is absent is named
	cd benchmarks/rival && CGO_ENABLED=0 $(GO) build -trimpath -o ../../bin/rival . || echo "NATS cannot be built here and is left out"
	bin/bench -rivals $(RIVALS) -rows '^(rivals|produce|fetch|durable-8|latency-1k)' -history $(HISTORY) $(BENCH)

BENCHSTAT ?= golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
bench-compare: bin/bench ## this tree against REF= (a commit), run in turn: changes with 95 % intervals, and benchstat's table
	@[ -n "$(REF)" ] || { echo "say against what: make bench-compare REF=HEAD~1"; exit 2; }
	rm -rf bin/reference && git worktree prune && git worktree add --detach bin/reference $(REF)
	cd bin/reference && CGO_ENABLED=0 $(GO) build -trimpath -o ../pelton-reference ./cmd/pelton
	git worktree remove --force bin/reference
	bin/bench -against bin/pelton-reference -rows '^(produce|fetch|convert|durable|latency)' -samples bin/compare $(BENCH)
	$(GO) run $(BENCHSTAT) bin/compare/reference.txt bin/compare/pelton.txt

bench-storage: bin/bench ## conversion, compaction and the hot path beside it, recovery scan: beside Kafka 3.9.1 where it does the same (needs Java, Maven; about 10 minutes)
	bin/bench -rivals 3.9.1 -rows '^(convert|compact)' -history $(HISTORY) $(BENCH)
	bin/bench -rows '^hot-beside-cleaner' -pairs 10 -history $(HISTORY) $(BENCH)
	$(GO) test -run '^$$' -bench 'Recover|Compact' -benchtime 5x ./logstore

LABDIR    ?= bin/lab
lab-tiny: build ## the example experiments in a tiny form: that they run, not what they find
	mkdir -p $(LABDIR)
	for e in disk-backend shards-and-poller writeback send-path; do \
		bin/pelton lab run examples/lab/$$e.yaml --repetitions 5 --duration 200ms --html $(LABDIR)/$$e.html --csv $(LABDIR)/$$e.csv || exit 1; \
	done

lab-check: build ## a known effect and an A/A check, live (about 2 minutes): reported, not asserted
	mkdir -p $(LABDIR)
	bin/pelton lab run examples/lab/known-effect.yaml --html $(LABDIR)/known-effect.html $(LAB)

measuring: bin/bench ## every command of docs/MEASURING.md and benchmarks/README.md in a tiny form: that they run
	internal/tools/measuring.sh

.PHONY: bin/bench
bin/bench: build
	$(GO) build -o bin/floor ./benchmarks/floor
	$(GO) build -o bin/bench ./benchmarks

gen: ## print the generated pages of docs/ from their tables
	$(GO) run ./cmd/pelton gendocs docs

gen-check: ## fail when a generated page is not what its table prints
	$(GO) test -run '^TestGeneratedPagesAreFresh$$' -count 1 ./cmd/pelton

cover: ## coverage of all packages in cover.out
	$(GO) test -short -timeout 20m -coverpkg=./... -coverprofile=cover.out ./...
	$(GO) tool cover -func=cover.out | tail -1

cross: ## build for other systems: it must compile there
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) build ./...
	GOOS=linux GOARCH=386 CGO_ENABLED=0 $(GO) build ./...
	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 $(GO) build ./...

test-giouring: ## the ring's conformance tests on the second backend (needs the linker flag)
	$(GO) test -tags giouring -ldflags=-checklinkname=0 ./internal/uring/... ./internal/disk/...

ci: lint test race release-test fuzz-smoke sim cross gen-check ## all of the above that a change must pass

interop-prepare: ## libraries of the clients in other languages, into bin/interop
	internal/tools/interop-prepare.sh bin/interop

interop: build interop-prepare ## other people's clients against this broker (needs Java, Maven, node, python3, kcat)
	internal/tools/with-broker.sh bash -c 'cd internal/interop && PELTON_BIN=$(CURDIR)/bin/pelton PELTON_INTEROP_DIR=$(CURDIR)/bin/interop \
		PELTON_APACHE=$(CURDIR)/internal/tools/apache $(GO) test -count 1 -timeout 40m ./...'
	$(MAKE) --no-print-directory differential

old-clients: build interop-prepare ## every console client from 0.8.2 to 4.2 with every other, all codecs, topics of every format (about 10 minutes; needs Java, Maven, kcat)
	PELTON_OLD_CLIENTS=all internal/tools/with-broker.sh bash -c 'cd internal/interop && PELTON_BIN=$(CURDIR)/bin/pelton PELTON_INTEROP_DIR=$(CURDIR)/bin/interop \
		PELTON_APACHE=$(CURDIR)/internal/tools/apache $(GO) test -count 1 -timeout 40m -v -run "TestOld|TestPinned" ./...'

differential: build ## every request to this broker and to Apache Kafka 3.9.1 and 4.2.0, answers compared field by field
	internal/tools/differential.sh 3.9.1
	internal/tools/differential.sh 3.9.1 ' old-' inter.broker.protocol.version=2.8
	internal/tools/differential.sh 4.2.0

differential-self: ## the same requests to two Apache Kafka 3.9.1: no difference, or the comparison itself is wrong
	PELTON_DIFFERENTIAL_SELF=1 internal/tools/differential.sh 3.9.1

zookeeper: build ## the broker and its controller on Apache ZooKeeper 3.9.5, and its answers against our server's (needs Java, Maven)
	internal/tools/with-zookeeper.sh bash -c '$(GO) test -count 1 ./zk/conformance && $(GO) test -count 1 ./controller/run ./zk/shell && \
		PELTON_OVERRIDES="--override zookeeper.connect=$$PELTON_TEST_ZOOKEEPER/pelton --override broker.id=0 --override offsets.topic.replication.factor=1" \
		internal/tools/with-broker.sh bash -c "cd internal/interop && $(GO) test -count 1 -run TestClientsGroups ./..."'

modes: build ## the broker's wire tests on its three coordinations: embedded, three servers of ours, Apache ZooKeeper 3.9.5 (about 12 minutes; needs Java, Maven)
	for kind in embedded ensemble zookeeper; do \
		echo "coordination: $$kind"; PELTON_BIN=$(CURDIR)/bin/pelton PELTON_TEST_COORDINATION=$$kind $(GO) test -count 1 -timeout 20m $(ARGS) ./cmd/pelton/broker || exit 1; \
	done

modes-short: build ## of the same, what a broker and its coordination do to each other: sessions, restarts, crashes, loss, adoption, topics and settings
	$(MAKE) --no-print-directory modes ARGS='-short -run "^Test(SessionOfTheBroker|CoordinationLost|Restart|Crash|Killed|Adopt|Start|CleanStop|CreateTopics|DeleteTopics|TopicMadeAgain|CreatePartitions|AlterConfigs|OffsetCommit|OffsetsSurvive|OffsetsInCoordination|Quotas|TopicsComeAndGo)"'

zk-sim: ## 300 seeds of the simulated ensemble: three and five members, everything going wrong (SEEDS=, SEED0=)
	$(GO) test -count 1 -timeout 30m -run '^TestSimulation' ./zk/ensemble -args -sim.seeds $(or $(SEEDS),300) -sim.first $(or $(SEED0),1)

zk-linear: build ## 200 000 operations on three servers that are killed, stopped, separated and cut off the power; porcupine says whether they are linearizable (root for partitions and power cuts)
	$(GO) run ./internal/tools/ensemble $(ARGS)

zk-linear-short: build ## the same with 25 000 operations
	$(GO) run ./internal/tools/ensemble -ops 25000 $(ARGS)

zk-linear-apache: ## the same script on three Apache ZooKeeper 3.9.5 (needs Java, Maven)
	internal/tools/ensemble-apache.sh $(ARGS)

zk-three: build ## three servers from one zoo.cfg, Apache's zkCli and a kazoo lock on them, each server killed once (needs Java, Maven, python3)
	internal/tools/ensemble-three.sh

zk-five: build ## five servers behind a wall that leaves clients their client ports: rolled one by one, one disk replaced, killed down to no majority; a client loses nothing (root for the wall; python3)
	internal/tools/ensemble-five.sh

zk-kafka: build ## Kafka 0.8.2.2, 2.2.2 and 3.9.1 (three brokers, one killed) on our coordination server, killed as well; znodes against Apache ZooKeeper's
	$(GO) run ./internal/tools/estate $(ARGS)

zk-kafka-short: build ## the same with 2.2.2 and one broker, on our server alone
	$(GO) run ./internal/tools/estate -versions 2.2.2 -compare=false

moving: build ## the commands of docs/MOVING.md: a directory from Kafka to here and back, twice, with real Kafka 3.9.1 and 4.2.0 (needs Java, Maven)
	internal/tools/moving.sh

zk-surface: build ## four-letter words, admin server and metrics of three servers and of one, name by name against Apache ZooKeeper 3.9.5 (needs Java, Maven)
	internal/tools/zk-surface.sh

golden-kafka: build ## every directory that a Kafka from 0.8.2 to 4.2 left: here by adoption, written to, and back to real Kafka (needs Java, Maven; about 15 minutes; ARGS="-versions 4.2.0")
	$(GO) run ./internal/tools/roundtrip $(ARGS)

golden-kafka-short: build ## two of them: 0.9.0.1 and 4.2.0, crashed
	$(GO) run ./internal/tools/roundtrip -brief

topic-id: build ## the real ZooKeeper tools of 0.8.2.2, 1.1.1 and 2.2.2 add partitions; the topic keeps its id and its records (needs Java, Maven)
	internal/tools/topic-id.sh

zk-docs: build ## the commands of docs/COORDINATION.md, taken out of the page and run
	internal/tools/zk-docs.sh

bench-zk: bin/bench ## the coordination server beside Apache ZooKeeper 3.9.5, one of each and three of each (needs Java, Maven; about 15 minutes)
	bin/bench -rows '^zk' -history $(HISTORY) $(BENCH)

zk-clients: build ## kazoo, Curator, the C client and Apache's zkCli on our coordination server (needs Java, Maven, gcc, python3-kazoo, libzookeeper-mt-dev)
	internal/tools/zk-clients.sh

kill-loop: build ## ROUNDS (5) of kill -9 in the middle of producing, and ROUNDS under topics of every kind; everything acknowledged must come back
	internal/tools/kill-loop.sh $(ROUNDS)
	$(GO) run ./internal/tools/killrounds -rounds $(ROUNDS)

restart: build ## how long starts take: 2 000 clean partitions, and kill -9 with 1 000 and 1 GiB to recover
	internal/tools/restart.sh

dump-record: ## record what Kafka 3.9.1's DumpLogSegments prints for the golden directories (needs Java and Maven)
	internal/tools/dump-record.sh logstore/inspect/testdata/dumps-3.9.1.tar.gz

power-cut: build ## ROUNDS (5) of power cuts on ext4 and on xfs, a full disk, a failing fsync (needs root and loop devices)
	$(GO) run ./internal/tools/power-cut -rounds $(ROUNDS)

disk-faults: build ## ROUNDS (5) of EIO on write, fsync and read, of a full disk, of EIO under a move and in every directory, on a FUSE file system (needs root and /dev/fuse)
	$(GO) run ./internal/tools/power-cut -rounds 0 -faults 0 -fuse $(ROUNDS)

soak: build ## 200 power cuts, 200 rounds of kill -9 under every kind of topic, then kill -9 rounds until it is stopped
	$(GO) run ./internal/tools/power-cut -rounds 100 -faults 3
	$(GO) run ./internal/tools/killrounds -rounds 200
	internal/tools/kill-loop.sh 1000000

clean: ## remove what was built
	rm -rf bin cover.out
