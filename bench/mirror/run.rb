# frozen_string_literal: true

# `powerband mirror` against nginx as a plain proxy, nginx with mirror module, and no proxy: `ruby bench/mirror/run.rb`, or one
# or more of `proxies unwell capture` as arguments. QUICK=1 takes two minutes and proves that it works, not how fast it is.
# Prints the tables and writes them; see README.md in this folder.

ROOT = File.expand_path("../..", __dir__)
require "fileutils"
require "json"
require "tmpdir"
require_relative "../support/build"
require_relative "../support/figures"
require_relative "../load/machine"
require_relative "../load/tools"
require_relative "servers"
require_relative "in_turns"
require_relative "toggled"
require_relative "arms"

QUICK = ENV["QUICK"] == "1"

# What the parts share.
class Bench
  attr_reader :random, :folder, :machine, :binary, :target

  def initialize
    @seed = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
    @random = Random.new(@seed)
    @target = ENV.fetch("CARGO_TARGET_DIR", "#{ROOT}/target")
    @binary = "#{target}/release/powerband"
    @folder = Dir.mktmpdir("bench-mirror-")
    at_exit { FileUtils.remove_entry(@folder) }
    %w[nginx wrk].each do |program|
      abort "bench/mirror: #{program} is missing: run script/bootstrap bench" unless system("command -v #{program} >/dev/null")
    end
    Build.release("bench/mirror", "powerband-cli")
    Build.release("bench/mirror", "powerband-stats", "--example", "ratio")
    @machine = Machine.new
  end

  # The proxy has a core alone; application, shadows and generator share the other.
  def proxy_core = machine.server_core
  def other_core = machine.generator_core

  def heading(command)
    <<~MARKDOWN
      # The mirror beside its peers

      Made by `#{command}` on #{Time.now.utc.strftime('%Y-%m-%d')}, seed #{@seed}: #{Figures.machine}; #{`nginx -v 2>&1`[%r{nginx/\S+}]}.
      What is measured how: [README.md](README.md).
    MARKDOWN
  end

  def compare(baseline, candidate) = Figures.compare(target, baseline, candidate)

  def progress(text) = warn("bench/mirror: #{text}")
end

PARTS = { "proxies" => Proxies, "unwell" => Unwell, "capture" => Captures }.freeze
unknown = ARGV - PARTS.keys
abort "bench/mirror: #{unknown.join(', ')}: give one or more of #{PARTS.keys.join(', ')}, or nothing for all" if unknown.any?

bench = Bench.new
text = bench.heading("#{'QUICK=1 ' if QUICK}ruby bench/mirror/run.rb #{ARGV.join(' ')}".strip)
(ARGV.empty? ? PARTS.values : PARTS.values_at(*ARGV)).each do |part|
  made = part.new(bench, rounds: QUICK ? 6 : 8, seconds: QUICK ? 1 : 3)
  text << "\n## #{part::TITLE}\n\n#{made.words}\n\n#{made.tables}"
end
Figures.publish("mirror", text, full: !QUICK && ARGV.empty?)
