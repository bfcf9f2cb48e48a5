# frozen_string_literal: true

ROOT = File.expand_path("../..", __dir__)
# What is measured with: `make build` makes it.
BINARY = ENV.fetch("POWERBAND_BINARY", "#{ROOT}/target/release/powerband")
abort "no #{BINARY}: run `make build` first, or name one in POWERBAND_BINARY" unless File.executable?(BINARY)
# Where rehearsals leave their tables and everything its log.
MADE = "#{ROOT}/target/experiments".freeze
