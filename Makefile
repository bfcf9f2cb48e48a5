# make demo      tune the storefront and leave a report          (about 3 minutes after the build)
# make test      every test, check and lint                      (installs what is missing first)
# make check     formatting, lints and unit tests of the Rust code  (a minute after a change)
# make build     the command line tool and the agent
# make install   the tool under PREFIX (default /usr/local)
# make package   gems, a Debian package and a tarball with a static program in target/package (CPU=aarch64: for that CPU)
# make release   all packages of both CPUs in target/release-VERSION, built twice and compared (RELEASING.md)
#
# Longer suites, each a separate target: make known-answers, make aa, make fuzz, make bench-load, make bench-agent, make bench-simulate, make bench-search, make bench-fleet, make bench-predict,
# make bench-grid, make bench-watch, make bench-export, make bench-memory, make bench-page, make bench-kafka, make bench-mirror, make bench-libc (QUICK=1: their short forms), make agent-soak (REQUESTS=1_000_000: the full form), make mirror-soak
# (MINUTES=20 RATE=3000: the full form), make mirror-identical (RUNS=40 SECONDS=20), make experiments (experiments/README.md: their full form), make matrix

PREFIX ?= /usr/local
# A program that is built already, such as that of `make e2e`, saves the release build: POWERBAND_BINARY=target/debug/powerband.
POWERBAND = $(or $(POWERBAND_BINARY),target/release/powerband)
# `make install FEATURES=kafka` adds the client of Kafka, which is not built by default: it takes Rust 1.95, 2 MB and a third more time.
ALL = --features powerband-cli/kafka

.PHONY: web web-test help demo test check build install static package release licences bootstrap bootstrap-demo bench-load bench-agent bench-simulate bench-search bench-fleet bench-predict bench-grid bench-watch bench-export bench-memory bench-page bench-kafka bench-mirror bench-libc agent-soak mirror-soak mirror-identical experiments matrix lint spelling rust-lint rust ruby storefront e2e contract dashboards aa fuzz known-answers samples agent-memcheck

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

bootstrap:
	@script/bootstrap

bootstrap-demo:
	@script/bootstrap demo

build: bootstrap-demo
	$(if $(POWERBAND_BINARY),test -x $(POWERBAND_BINARY),cargo build --release --locked --package powerband-cli $(FEATURES:%=--features %))
	ruby gem/ext/powerband/build.rb >/dev/null

demo: build
	$(POWERBAND) tune --quick --config examples/storefront/powerband.toml

# What is compiled once needs no state for compiling it again, and of debug information what a backtrace shows.
test: export CARGO_INCREMENTAL = 0
test: export CARGO_PROFILE_DEV_DEBUG = line-tables-only
test: bootstrap lint rust ruby storefront e2e

check: rust-lint
	cargo test --workspace --locked $(ALL) --lib --bins --quiet

rust-lint:
	script/check-invariants
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked $(ALL) -- --deny warnings

lint: rust-lint
	@# A separate workspace; libFuzzer is C++, and its lock follows our crates' everywhere.
	if command -v c++ >/dev/null; then cargo clippy --locked --manifest-path fuzz/Cargo.toml --target-dir $(or $(CARGO_TARGET_DIR),target) -- --deny warnings; else cargo metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null; echo 'no C++ compiler: the code of fuzz/ was not checked'; fi
	if command -v rubocop >/dev/null; then rubocop --format simple gem examples e2e contract bench experiments script/package script/release script/release_tools.rb script/licences script/matrix* crates/setup/src/answered.rb crates/experiment/src/arm_bundle/bundle.rb; else echo 'RuboCop is not installed: the Ruby style was not checked'; fi
	@if command -v codespell >/dev/null; then $(MAKE) --no-print-directory spelling; else echo 'codespell is not installed: the spelling was not checked'; fi

# Spelling everywhere (.codespellrc); in the docs also the words of our vocabulary. Tables of runs are as they were made.
spelling:
	codespell --quiet-level 7
	git ls-files -z '*.md' ':!CHANGELOG.md' ':!contract' ':!bench/*/RESULTS.md' ':!bench/*/SOAK.md' ':!bench/*/IDENTICAL.md' | xargs -0 codespell -D script/prose/words.txt

rust:
	cargo test --workspace --locked $(ALL)

ruby:
	ruby gem/ext/powerband/build.rb >/dev/null
	ruby gem/test/run.rb

storefront:
	cd examples/storefront && ruby bin/rails test

# The binary of the unit tests' profile, in which only the crates that measure are optimised: it reuses what `cargo test` compiled, and
# the suites that measure for long (make known-answers, make aa and the benchmarks) have it. TESTS: options of minitest.
e2e: bootstrap
	cargo build --workspace --bins --locked $(ALL)
	ruby gem/ext/powerband/build.rb >/dev/null
	POWERBAND_BINARY=$(CURDIR)/target/debug/powerband ruby e2e/run.rb $(TESTS)

# Applications with a known answer and other end-to-end tests that take too long for `make test`. TESTS: options of minitest, such as
# TESTS="--name '/leak/'" for a part of them.
known-answers: build
	ruby e2e/run.rb long $(TESTS)

# Repeated comparisons of identical arms: how often the procedure sees a difference that is not there.
aa: build
	ruby e2e/aa.rb $(RUNS)

# The load generator against wrk, ab, h2load and oha: half an hour on a quiet machine.
bench-load:
	@script/bootstrap bench
	ruby bench/load/run.rb

# What musl's C library costs the static program, against glibc's: a quarter of an hour after two builds.
bench-libc:
	@script/bootstrap bench
	ruby bench/libc/run.rb

# What the agent costs, against no agent and against the usual way: an hour on a quiet machine, as root.
bench-agent: bootstrap
	ruby bench/agent/run.rb

# How many requests a second the simulator makes, and how long a grid of configurations takes: half a minute.
bench-simulate:
	cargo run --quiet --release --locked --package powerband-capacity --example simulate

# The search on simulated servers with a known best configuration, against the usual ways: six minutes after the build.
bench-search:
	cargo run --quiet --release --locked --package powerband-search --example simulated -- $(PROBLEMS)

# Simulated fleets with a known truth, and how often their verdict is wrong; what a verdict on 10,000 units costs: three minutes after the build.
bench-fleet:
	cargo run --quiet --release --locked --package powerband-fleet --example simulated -- $(FLEETS)
	cargo run --quiet --release --locked --package powerband-fleet --example large

# Predictions against measurements, on the synthetic application and on the storefront: an hour on a quiet machine.
bench-predict: build
	$(POWERBAND) predict --validate --config bench/predict/synthetic.toml --markdown target/predict-synthetic.md
	$(POWERBAND) predict --validate --config bench/predict/storefront.toml --markdown target/predict-storefront.md

# `tune --knobs` against an exhaustive grid of the same space: an hour and a half on a quiet machine, as root for Redmine.
bench-grid: bootstrap
	ruby bench/grid/run.rb

# What `watch` costs on 32 processes: four minutes after the build.
bench-watch:
	ruby bench/watch/run.rb

# What `export` costs on 32 processes: five minutes after the build.
bench-export:
	ruby bench/export/run.rb

# What `memory` costs on 20 processes: four minutes after the build.
bench-memory:
	ruby bench/memory/run.rb

# The page of `report --html` in Chromium: half a minute after the build.
bench-page: build
	@script/bootstrap web
	node bench/page/run.mjs

# Four generators that share a topic of Kafka against one: some minutes on a quiet machine, as root.
bench-kafka: bootstrap
	@script/bootstrap bench
	cargo build --quiet --release --locked --workspace --bins $(ALL)
	ruby bench/kafka/run.rb

# The mirror against nginx, and with failing shadows: a quarter of an hour on a quiet machine.
bench-mirror:
	@script/bootstrap bench
	ruby bench/mirror/run.rb

# A mirror whose primary and shadows are killed, restarted, stopped and cut off under load: a minute and a half.
mirror-soak: build
	ruby bench/mirror/soak.rb

# How often a mirror claims a difference between identical shadows, in both orders, with and without a twin: a quarter of an hour on a
# quiet machine; RUNS=200 SECONDS=20 for more evidence.
mirror-identical: build
	ruby bench/mirror/identical.rb $(RUNS)

# A cluster under load whose workers are killed, restarted and re-forked, and what became of their files: two minutes.
agent-soak: build
	ruby bench/agent/soak.rb

# Every ready experiment in its short form, each configuration once: seven minutes. EXPERIMENTS='json gc': these alone.
# `ruby experiments/run.rb full`: their tables, an hour.
experiments: build
	@script/bootstrap experiments
	ruby experiments/run.rb $(EXPERIMENTS)

# The agent's tests and the real binary in the versions that Debian's releases have (docs/versions.md), as root: an hour and a half, and 5 GB.
# CELLS=testing-puma: these alone.
matrix:
	@script/bootstrap matrix
	cargo build --workspace --bins --locked $(ALL)
	script/matrix $(CELLS)

# What reads foreign bytes under libFuzzer: half a minute each, or for RUNS executions (fuzz/README.md).
fuzz:
	script/fuzz $(RUNS)

# The agent's extension under the address sanitizer and valgrind: about a quarter of an hour. KIND=asan: a minute.
agent-memcheck:
	script/agent-memcheck $(KIND)

# Script and style of `report --html` and `watch --serve`, from web/src to web/dist: committed, so that a build of the tool needs no Node.
web:
	cd web && npm ci --ignore-scripts --no-audit --no-fund && npx tsc --noEmit && node build.mjs

# The pages in a browser; first whether web/dist is what web/src gives.
web-test: build
	@script/bootstrap web
	$(MAKE) web
	git diff --exit-code --stat web/dist
	cd web && node --test --test-reporter=spec test/

contract:
	cargo run --quiet --package powerband-run --example contract
	cargo run --quiet --package powerband-knobs --example page
	cargo run --quiet --package powerband-archive --example parquet_contract
	cargo run --quiet --package powerband-experiment --example editor_schema

# Grafana's dashboards, after a change of their table in crates/metrics/examples/dashboards.
dashboards:
	cargo run --quiet --package powerband-metrics --example dashboards

# `install -s` strips the program; STRIP= leaves it as it is. RUNNER: runs a program that was built for another CPU.
STRIP = -s
RUNNER =
ZSH = zsh/site-functions

# The gem is installed as its gemspec lists it: no tests, nothing compiled for this machine's Ruby.
install: SHARE = $(DESTDIR)$(PREFIX)/share
install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/powerband/monitoring/grafana $(SHARE)/man/man1 $(SHARE)/bash-completion/completions \
	  $(SHARE)/$(ZSH) $(SHARE)/fish/vendor_completions.d
	install $(STRIP) -m 755 $(POWERBAND) $(DESTDIR)$(PREFIX)/bin/powerband
	cd gem && files=$$(ruby -e 'puts "powerband.gemspec", Gem::Specification.load("powerband.gemspec").files') && \
	  rm -rf "$(abspath $(SHARE))/powerband/gem" && for file in $$files; do \
	    mode=644; test ! -x "$$file" || mode=755; \
	    install -D -m $$mode "$$file" "$(abspath $(SHARE))/powerband/gem/$$file" || exit 1; done
	install -m 644 packaging/monitoring/powerband.rules.yml $(SHARE)/powerband/monitoring
	install -m 644 packaging/monitoring/grafana/*.json $(SHARE)/powerband/monitoring/grafana
	$(RUNNER) $(POWERBAND) man --dir $(SHARE)/man/man1
	$(RUNNER) $(POWERBAND) completions bash >$(SHARE)/bash-completion/completions/powerband
	$(RUNNER) $(POWERBAND) completions zsh >$(SHARE)/$(ZSH)/_powerband
	$(RUNNER) $(POWERBAND) completions fish >$(SHARE)/fish/vendor_completions.d/powerband.fish

# The program without a shared library, for any Linux of the CPU: glibc's and Alpine's. Cargo brings the C library (musl); cc links.
CPU = $(shell uname -m)
STATIC = $(or $(CARGO_TARGET_DIR),target)/$(CPU)-unknown-linux-musl/dist/powerband
# What is allowed, 15 MiB. What its parts take is shown by `nm --size-sort -S -C` of a build with CARGO_PROFILE_DIST_STRIP=none.
STATIC_MOST_BYTES = 15728640
static: export CC_x86_64_unknown_linux_musl = cc
static: export CC_aarch64_unknown_linux_musl = aarch64-linux-gnu-gcc
static: export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER = aarch64-linux-gnu-gcc
# The same bytes wherever the checkout and cargo's folder are; relocations take a fiftieth of the room. With frame pointers the tables for
# unwinding take 0.7 MB less, because they need no entry for each push and pop.
static: export RUSTFLAGS = -C link-arg=-Wl,-z,pack-relative-relocs -C force-frame-pointers=yes --remap-path-prefix=$(CURDIR)=/powerband --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo
static:
	@script/bootstrap static $(CPU)
	cargo build --profile dist --locked --package powerband-cli --target $(CPU)-unknown-linux-musl
	@bytes=$$(stat -c %s $(STATIC)) && test "$$bytes" -le $(STATIC_MOST_BYTES) || \
	  { echo "$(STATIC) has $$bytes bytes, more than $(STATIC_MOST_BYTES)" >&2; exit 1; }

# Gems, a Debian package, a tarball and their checksums in target/package, for CPU=x86_64 or CPU=aarch64.
package: static
	script/package $(CPU)-linux $(STATIC) target/package $(if $(filter $(CPU),$(shell uname -m)),,qemu-$(CPU)-static)

# What is published, built twice and compared, with checksums, contents and licences (RELEASING.md). CPUS=x86_64: of that CPU alone.
release:
	@script/bootstrap release
	script/release build $(CPUS)

# The licences of what the program contains, after a change of Cargo.lock or of web/package-lock.json.
licences:
	@script/bootstrap licences
	script/licences
