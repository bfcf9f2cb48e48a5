# make demo      tune the storefront and leave a report          (about 8 minutes after the build)
# make test      every test, check and lint                      (installs what is missing first)
# make build     the command line tool and the agent
# make install   the tool under PREFIX (default /usr/local)
#
# Longer suites, each a target of its own: make known-answers, make aa

PREFIX ?= /usr/local
POWERBAND = target/release/powerband

.PHONY: help demo test build install bootstrap bootstrap-demo lint rust ruby storefront e2e contract aa known-answers samples

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

bootstrap:
	@script/bootstrap

bootstrap-demo:
	@script/bootstrap demo

build: bootstrap-demo
	cargo build --release --locked --package powerband-cli
	ruby gem/ext/powerband/build.rb >/dev/null

demo: build
	$(POWERBAND) tune --config examples/storefront/powerband.toml

test: bootstrap lint rust ruby storefront e2e

lint:
	script/check-invariants
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- --deny warnings
	if command -v rubocop >/dev/null; then rubocop --format simple gem examples e2e contract; else echo 'RuboCop is not installed: the Ruby style was not checked'; fi

rust:
	cargo test --workspace --locked

ruby:
	ruby gem/ext/powerband/build.rb >/dev/null
	ruby gem/test/run.rb

storefront:
	cd examples/storefront && ruby bin/rails test

e2e: build
	ruby e2e/run.rb

# The known answers that take longer to show than `make test` has time for.
known-answers: build
	ruby e2e/run.rb long

# Repeated comparisons of identical arms: how often the procedure sees a difference that is not there.
aa: build
	ruby e2e/aa.rb $(RUNS)

contract:
	cargo run --quiet --package powerband-run --example contract

install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/powerband $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(POWERBAND) $(DESTDIR)$(PREFIX)/bin/powerband
	cp -R gem $(DESTDIR)$(PREFIX)/share/powerband/
	$(POWERBAND) man >$(DESTDIR)$(PREFIX)/share/man/man1/powerband.1
