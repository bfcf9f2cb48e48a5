# frozen_string_literal: true

# Powerband's load generator against wrk, ab, h2load and oha, on this machine: `ruby bench/load/run.rb`, or one or more of
# `closed open freeze memory` as arguments. QUICK=1 takes under three minutes instead of half an hour and proves that it
# works, not how fast it is. Prints the tables and writes them; see README.md in this folder.

ROOT = File.expand_path("../..", __dir__)
require "English"
require "fileutils"
require_relative "../support/build"
require_relative "../support/figures"
%w[tools machine nginx closed open freeze memory].each { |part| require_relative part }

# What the parts share: who is compared, on what, with which randomness, and how it is shown.
class Bench
  attr_reader :machine, :server, :powerband, :peers, :random

  def initialize
    @seed = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
    @random = Random.new(@seed)
    @target = ENV.fetch("CARGO_TARGET_DIR", "#{ROOT}/target")
    @powerband = Tools::Powerband.new("#{@target}/release/powerband")
    @peers, missing = Tools.peers.partition(&:present?)
    abort "bench/load: missing #{missing.map(&:name).join(', ')}: run script/bootstrap bench" if missing.any?
    abort "bench/load: nginx is missing: run script/bootstrap bench" unless system("command -v nginx >/dev/null")
    Build.release("bench/load", "powerband-cli")
    Build.release("bench/load", "powerband-stats", "--example", "ratio")
    @machine = Machine.new
  end

  def run(parts)
    @server = Nginx.new(machine.server_core)
    ([heading] + parts.map { |title, text, part| "## #{title}\n\n#{text}\n\n#{part.call(self).table}" }).join("\n")
  ensure
    @server&.stop
  end

  # What the block makes of each tool in each round, by tool.
  def rounds(count, tools, what)
    Figures.rounds(count, tools, random) do |tool, number|
      progress "#{what}, round #{number} of #{count}: #{tool.name}"
      yield tool
    end
  end

  # Powerband's figures to a peer's over the rounds.
  def ratio(theirs, ours)
    Figures.compare(@target, theirs, ours).text(2)
  end

  def progress(text)
    warn "bench/load: #{text}"
  end

  private

  def heading
    command = "#{'QUICK=1 ' if QUICK}ruby bench/load/run.rb #{ARGV.join(' ')}".strip
    versions = ([powerband] + peers).map { |tool| "#{tool.name} #{tool.version}" }.push(Nginx.version)
    <<~MARKDOWN
      # The load generator beside its peers

      Made by `#{command}` on #{Time.now.utc.strftime('%Y-%m-%d')}, seed #{@seed}: #{Figures.machine}.
      #{versions.join(', ')}. nginx has one worker on one core, the generator another. What is measured how: [README.md](README.md).
    MARKDOWN
  end
end

QUICK = ENV["QUICK"] == "1"
rounds, seconds = QUICK ? [6, 1] : [12, 5]
open_rounds, open_seconds = QUICK ? [1, 3] : [3, 11]
freeze_s, period_s, periods = QUICK ? [0.2, 2, 3] : [1, 10, 6]
memory_s = QUICK ? 20 : 600

PARTS = {
  "closed" => ["Closed loop, #{Tools::CONNECTIONS} connections",
               "#{rounds} rounds of #{seconds} s in random order; medians, and ratios by round with their 95 % intervals.",
               ->(bench) { Closed.new(bench, rounds:, seconds:) }],
  "open" => ["Open loop",
             "#{open_rounds} runs of #{open_seconds} s each in random order, the worst of them; wrk and ab know no rate.",
             ->(bench) { Open.new(bench, rounds: open_rounds, seconds: open_seconds) }],
  "freeze" => ["A server that freezes for #{freeze_s} s every #{period_s} s",
               "#{Freeze::RATE} a second where the tool knows a rate; #{period_s * periods} s. Due: what arithmetic says.",
               ->(bench) { Freeze.new(bench, freeze_s:, period_s:, periods:) }],
  "memory" => ["Memory", "Powerband, closed loop, as fast as it goes.", ->(bench) { Memory.new(bench, seconds: memory_s) }]
}.freeze

unknown = ARGV - PARTS.keys
abort "bench/load: #{unknown.join(', ')}: give one or more of #{PARTS.keys.join(', ')}, or nothing for all" if unknown.any?

text = Bench.new.run(ARGV.empty? ? PARTS.values : PARTS.values_at(*ARGV))
Figures.publish("load", text, full: !QUICK && ARGV.empty?)
