# frozen_string_literal: true

# Every end-to-end test:  ruby e2e/run.rb [-n /name/] [minitest options]
# Those that take longer:   ruby e2e/run.rb long [minitest options]
# It wants the binary built (make build), or named in POWERBAND_BINARY.
$stdout.sync = true
binary = ENV.fetch("POWERBAND_BINARY", File.expand_path("../target/release/powerband", __dir__))
abort "no #{binary}: run `make build` first, or name one in POWERBAND_BINARY" unless File.executable?(binary)

folders = ARGV.first == "long" ? [ARGV.shift] : %w[. apps]
# Two tests side by side, however many cores there are.
ENV["MT_CPU"] ||= "2"
require "minitest/autorun"
folders.each { |folder| Dir[File.join(__dir__, folder, "*_test.rb")].each { |file| require file } }
