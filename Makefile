# The project's commands. `make help` lists them.

GRADLE ?= gradle
GRADLE_FLAGS ?= --no-daemon --console=plain -q
CARGO ?= cargo

gradle = $(GRADLE) $(GRADLE_FLAGS) -p java

.PHONY: help tools native demo jar dist dist-twice test test-rust test-java test-sql test-interop test-conformance test-connection test-cluster pstest soak bench fmt lint
.NOTPARALLEL:
.DEFAULT_GOAL := help

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 16

tools: ## check the tools needed and install Gradle where it is missing
	@.ci/tools

native: tools ## build the native library and the embedded server
	$(CARGO) build --release --locked -p pubsub-flink -p pubsub-emulator

jar: native ## build the connector jar for this machine; the last line is its path
	$(gradle) :connector:jar
	@ls -1t $(CURDIR)/java/connector/build/libs/flink-connector-pubsub-native-*.jar | head -n 1

dist: tools ## build the release jar for Linux on x86_64 and aarch64 into dist/, and check it
	packaging/native
	packaging/notices.py target/dist
	rm -f dist/*.jar
	$(gradle) :connector:distJar
	packaging/check dist/flink-connector-pubsub-native-*.jar

dist-twice: ## build the release jar once more from a clean clone, and compare the bytes
	packaging/twice

demo: native ## run a Flink job on real records against the embedded server
	@$(gradle) :datastream:demo

test: test-rust test-java test-interop test-conformance test-cluster ## run every test

test-rust: tools ## run the tests of the Rust crates
	$(CARGO) test --workspace --locked --no-fail-fast

test-java: native ## run the Java tests: units, jobs on Flink 2.3 and 1.20 against the embedded server, some on 2.2, 2.0 and other Javas
	$(gradle) --continue test :connector:libraryTest :connector:logTest integrationTest flink1Test -x :interop-java:integrationTest -x :cluster:integrationTest
	@if python3 -m pip --version >/dev/null 2>&1; then \
		tests/java/runtime 11 21 25; \
	elif [ "$$CI" = true ]; then \
		echo "python3 with pip is missing: the tests on other Javas fetch these with it" >&2; exit 1; \
	else \
		echo "python3 with pip is missing: skipping the tests on Java 11, 21 and 25"; \
	fi
	$(gradle) --continue :connector:smoke

soak: native ## run the tests with faults in their long form: a million messages, hundreds of faults
	$(gradle) :connector:soak

test-sql: native ## run the tests of the SQL connector, on Flink 2.3 and 1.20
	$(gradle) --continue :connector:unitTest :connector:integrationTest :connector:flink1Test '-Ptests=flinkpubsub[.]table[.]'

test-interop: native pstest ## run the tests against clients and servers of others
	$(gradle) :interop-java:integrationTest

test-conformance: native pstest ## run the same scenarios with Google's clients on the embedded server and on pstest
	$(gradle) :conformance:classpath
	tests/conformance/run

test-cluster: native ## run the example jobs on a standalone Flink cluster, and kill its processes (CONNECTOR_JAR=…: with that jar)
	@if python3 -m pip --version >/dev/null 2>&1; then \
		tests/cluster/flink && tests/cluster/pyflink && $(gradle) :cluster:integrationTest $(if $(CONNECTOR_JAR),-PconnectorJar=$(abspath $(CONNECTOR_JAR))); \
	elif [ "$$CI" = true ]; then \
		echo "python3 with pip is missing: the tests on a cluster fetch Flink with it" >&2; exit 1; \
	else \
		echo "python3 with pip is missing: skipping the tests on a cluster"; \
	fi

test-connection: native ## run the tests of credentials, TLS, endpoints and permissions alone
	$(CARGO) test --locked -p pubsub-client --test credentials --test tls --test headers --test secrets --test subscribe_credentials
	$(CARGO) test --locked -p pubsub-client --lib -- auth:: connect::
	$(CARGO) test --locked -p pubsub-emulator --test security
	$(CARGO) test --locked -p pubsub-emulator --lib -- permissions::
	$(gradle) :connector:integrationTest -Ptests='([.]connection[.]|AccessToken)'

pstest: # the server of Google's Go client; the tests that need it are skipped without Go, except in CI
	@if command -v go >/dev/null; then \
		cd tests/pstest && go build -o $(CURDIR)/target/pstest .; \
	elif [ "$$CI" = true ]; then \
		echo "go is missing: the tests against pstest need Go 1.26 or newer" >&2; exit 1; \
	else \
		echo "go is missing: skipping the tests against pstest"; rm -f target/pstest; \
	fi

bench: native ## measure beside Google's Java client; results in target/bench/results.json
	@$(gradle) :bench:bench

fmt: tools ## format all sources
	$(CARGO) fmt --all
	$(gradle) format

lint: tools ## check formatting, and clippy with warnings as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(gradle) formatCheck
