# The project's commands. `make help` lists them.

GRADLE ?= gradle
GRADLE_FLAGS ?= --no-daemon --console=plain
CARGO ?= cargo

gradle = $(GRADLE) $(GRADLE_FLAGS) -p java

.PHONY: help tools native demo jar test test-rust test-java test-interop bench fmt lint
.NOTPARALLEL:
.DEFAULT_GOAL := help

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 16

tools: ## check the tools needed and install Gradle where it is missing
	@.ci/tools

native: tools ## build the native library and the embedded server
	$(CARGO) build --release --locked -p pubsub-flink -p pubsub-emulator

jar: native ## build the connector jar for this machine; the last line is its path
	$(gradle) -q :connector:jar
	@ls -1 $(CURDIR)/java/connector/build/libs/flink-connector-pubsub-native-*.jar | grep -v -e -sources -e -javadoc | tail -n 1

demo: native ## run a Flink job on real records against the embedded server
	$(gradle) -q :datastream:demo

test: test-rust test-java test-interop ## run every test

test-rust: tools ## run the tests of the Rust crates
	$(CARGO) test --workspace --locked

test-java: native ## run the Java tests: units, and jobs against the embedded server
	$(gradle) test integrationTest

test-interop: native ## run the tests against clients and servers of others
	$(gradle) :interop-java:interopTest

bench: native ## measure beside Google's Java client; results in target/bench/results.json
	$(gradle) -q :bench:bench

fmt: tools ## format all sources
	$(CARGO) fmt --all
	$(gradle) -q format

lint: tools ## check formatting and compile with warnings as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(gradle) -q formatCheck testClasses
