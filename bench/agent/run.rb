# frozen_string_literal: true

# The agent against no agent and the usual way: `ruby bench/agent/run.rb`, or one or more of
# `cycle request memory puma instructions storefront redmine redmine-together storefront-twins redmine-twins
# redmine-instructions` as arguments. QUICK=1 proves that it works, not what it costs. Prints the tables and writes them; see
# README.md in this folder.

require "json"
require_relative "bench"
require_relative "costs"
require_relative "instructions"
require_relative "side_by_side"
require_relative "sites"
require_relative "throughput"
require_relative "twins"

QUICK = ENV["QUICK"] == "1"
rounds = QUICK ? 6 : 9
seconds = QUICK ? 1 : 3
many = QUICK ? 6 : 24
fewer = QUICK ? 6 : 16
twin_rounds = QUICK ? 6 : 22
turns = QUICK ? 2 : 12
twins = "#{twin_rounds} rounds of #{turns} turns, each with two processes forked from one that had booted and served: one with " \
        "the agent, one without."

PARTS = {
  "cycle" => ["One GVL cycle", "SUSPENDED, READY, RESUMED: medians over #{rounds} rounds, and what it is more than without.",
              ->(bench) { Cycle.new(bench, rounds:, cycles: QUICK ? 200_000 : 2_000_000) }],
  "request" => ["One request", "Thread CPU more than a bare call of the same application; medians over #{rounds} rounds.",
                ->(bench) { Request.new(bench, rounds:, requests: QUICK ? 30_000 : 300_000) }],
  "memory" => ["Memory of a process", "Proportional set size after a full collection.",
               ->(bench) { Memory.new(bench, requests: QUICK ? 50_000 : 2_000_000) }],
  "puma" => ["A saturated Puma, 5 threads, a trivial application",
             "#{many} rounds of #{seconds} s in random order; Hodges-Lehmann ratio with its 95 % interval.",
             ->(bench) { Throughput.new(bench, Sites.hello, rounds: many, seconds:) }],
  "instructions" => ["The same, in instructions", "User code of the whole process, by valgrind's callgrind.",
                     ->(bench) { Instructions.new(bench, Sites.hello, requests: QUICK ? 1000 : 5000) }],
  "storefront" => ["The storefront, 3 threads, saturated", "#{fewer} rounds of #{seconds * 5} s, without and with the agent.",
                   lambda { |bench|
                     Throughput.new(bench, Sites.storefront(bench), rounds: fewer, seconds: seconds * 5, arms: %w[none powerband])
                   }],
  "redmine" => ["Redmine, 3 threads, saturated", "#{many} rounds of #{seconds * 4} s, without and with the agent.",
                lambda { |bench|
                  Throughput.new(bench, Sites.redmine(bench), rounds: many, seconds: seconds * 4, turns: 6,
                                                              arms: %w[none powerband])
                }],
  "redmine-together" => ["Redmine, side by side", "#{many} rounds of #{seconds * 4} s, without and with the agent at the same " \
                                                  "time, each on a processor of its own; they change places.",
                         lambda { |bench|
                           SideBySide.new(bench, Sites.redmine(bench), rounds: many, seconds: seconds * 4, turns: 4,
                                                                       arms: %w[none powerband])
                         }],
  "storefront-twins" => ["The storefront, twins", twins,
                         lambda { |bench|
                           Twins.new(bench, Sites.storefront(bench), rounds: twin_rounds, turns:, warm: 60,
                                                                     requests: QUICK ? 20 : 60)
                         }],
  "redmine-twins" => ["Redmine, twins", twins,
                      lambda { |bench|
                        Twins.new(bench, Sites.redmine(bench), rounds: twin_rounds, turns:, warm: QUICK ? 20 : 60,
                                                               requests: QUICK ? 10 : 16)
                      }],
  "redmine-instructions" => ["Redmine, in instructions", "User code of the whole process by callgrind, the collector off, one " \
                                                         "request at a time.",
                             lambda { |bench|
                               InstructionsWithoutGC.new(bench, Sites.redmine(bench), requests: QUICK ? 20 : 100)
                             }]
}.freeze

unknown = ARGV - PARTS.keys
abort "bench/agent: #{unknown.join(', ')}: give one or more of #{PARTS.keys.join(', ')}, or nothing for all" if unknown.any?

bench = Bench.new
command = "#{'QUICK=1 ' if QUICK}ruby bench/agent/run.rb #{ARGV.join(' ')}".strip
text = <<~MARKDOWN
  # What the agent costs

  Made by `#{command}` on #{Time.now.utc.strftime('%Y-%m-%d')}, seed #{bench.seed}: #{Figures.machine}, Ruby #{RUBY_VERSION}.
  What is measured how: [README.md](README.md).
MARKDOWN
(ARGV.empty? ? PARTS.values : PARTS.values_at(*ARGV)).each do |title, words, part|
  text << "\n## #{title}\n\n#{words}\n\n#{part.call(bench).table}"
  File.write("#{bench.target}/bench-agent.md", text)
end
Figures.publish("agent", text, full: !QUICK && ARGV.empty?)
