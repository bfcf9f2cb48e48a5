# frozen_string_literal: true

# How often a mirror claims a difference between identical shadows: `ruby bench/mirror/identical.rb [RUNS]` (40; SECONDS=20 each),
# a quarter of an hour. Three identical Pumas share a core; a mirror and the generator have the other. Shadows are named in both
# orders, with and without a twin, each a quarter of the runs. README.md has the rule by which it exits with 1.

ROOT = File.expand_path("../..", __dir__)
require "json"
require "open3"
require "tmpdir"
require_relative "../support/build"
require_relative "../support/figures"
require_relative "../load/machine"
require_relative "claims"
require_relative "servers"

# The runs and their table.
class Identical
  SETUPS = [%w[one other], %w[other one]].product([nil, "one"]).freeze

  def initialize(runs)
    divides = runs.positive? && (runs % SETUPS.size).zero?
    abort "bench/mirror: RUNS = #{runs}: not a multiple of #{SETUPS.size} set-ups; give #{SETUPS.size}, 40 or 200" unless divides

    @runs = runs
    @seconds = Integer(ENV.fetch("SECONDS", 20))
    @rate = Integer(ENV.fetch("RATE", 60))
    @binary = ENV.fetch("POWERBAND_BINARY") { built }
    @machine = Machine.new
  end

  # Whether the rule holds.
  def run
    puts "#{@runs} runs of #{@seconds} s at #{@rate} requests/s.", ""
    puts "| run | named first | twin | ratio, second to first | interval | verdict |", "|---|---|---|---|---|---|"
    claims = Claims.new(Array.new(@runs) { |number| shown(number) })
    puts "", claims.table, "", "#{Time.now.utc.strftime('%Y-%m-%d')}, #{Figures.machine}. #{claims.summary}"
    claims.allowed? && claims.orders_alike?
  end

  private

  def built
    Build.release("bench/mirror", "powerband-cli")
    "#{ENV.fetch('CARGO_TARGET_DIR', "#{ROOT}/target")}/release/powerband"
  end

  def shown(number)
    names, twin = SETUPS[number % SETUPS.size]
    ratio, low, high, outcome = measured(names, twin)
    figures = [ratio, low, high].map { |figure| format("%.3f", figure) }
    puts "| #{number + 1} | #{names.first} | #{twin || 'none'} | #{figures[0]} | #{figures[1]} to #{figures[2]} | #{outcome} |"
    $stdout.flush
    Claims::Run.new(names.first, twin || "none", ratio, outcome)
  end

  # Each run starts new servers, so that what a process has by chance, such as its memory layout, does not recur.
  def measured(names, twin)
    Dir.mktmpdir("bench-identical-") do |folder|
      primary, *shadows = ["primary", *names].map { |name| puma(folder, name) }
      servers = [primary, *shadows].each(&:await)
      copies = names.zip(shadows).flat_map { |name, server| ["--shadow", "#{name}=http://127.0.0.1:#{server.port}"] }
      found = mirrored(folder, primary, copies + (twin ? ["--twin", twin] : []))
      ratio_of(found, names)
    ensure
      servers&.each(&:stop)
    end
  end

  def puma(folder, name)
    port = Servers.free_port
    Servers::Server.new(@machine.server_core, "env", "HELD_MS=3", "puma", "-t", "3:3", "-b", "tcp://127.0.0.1:#{port}",
                        "#{ROOT}/e2e/apps/cpu/config.ru", port:, log: "#{folder}/#{name}.log")
  end

  # What the mirror prints at its end.
  def mirrored(folder, primary, flags)
    mirror = Servers.powerband(folder, "mirror", @machine.generator_core, @binary, primary.port, ["--json", *flags]).await
    out, status = Open3.capture2e("taskset", "-c", @machine.generator_core.to_s, @binary, "load", "http://127.0.0.1:#{mirror.port}/",
                                  "--rate", @rate.to_s, "--duration", "#{@seconds}s", "--quiet")
    raise out unless [0, 3].include?(status.exitstatus)

    mirror.stop
    JSON.parse(File.read("#{folder}/mirror.log"))
  ensure
    mirror&.stop
  end

  # The ratio of the shadow that was named second to the first, its bounds, and the verdict.
  def ratio_of(document, names)
    found = document.fetch("comparisons").find { |one| one.values_at("candidate", "reference").sort == names.sort }
    raise "no comparison of #{names.join(' and ')}" unless found

    ratio, low, high = found.dig("all", "mean").values_at("ratio", "low", "high")
    abort "bench/mirror: SECONDS = #{@seconds}: too few for an interval; give at least 20" unless low && high

    ratio, low, high = [ratio, high, low].map { |bound| 1 / bound } if found["candidate"] == names.first
    [ratio, low, high, found.fetch("outcome")]
  end
end

exit Identical.new(Integer(ARGV.fetch(0, 40))).run
