# frozen_string_literal: true

# How often a mirror sees a difference between identical shadows: `ruby bench/mirror/identical.rb [RUNS]` (40), a quarter of an
# hour. Three identical Pumas share a core; a mirror and the generator have the other. Shadows are named in both orders, with and
# without a twin, each a quarter of the runs. It exits with 1 when so many false claims, or a first-named shadow that is faster so
# often, would come by chance in less than 1 % of the cases.

ROOT = File.expand_path("../..", __dir__)
require "json"
require "open3"
require "tmpdir"
require_relative "../../e2e/support/binomial"
require_relative "../support/build"
require_relative "../support/figures"
require_relative "../load/machine"
require_relative "servers"

# The runs and their table.
class Identical
  SETUPS = [%w[one other], %w[other one]].product([nil, "one"]).freeze
  NOMINAL = 0.05

  def initialize(runs)
    @runs = runs
    @seconds = Integer(ENV.fetch("SECONDS", 20))
    @rate = Integer(ENV.fetch("RATE", 60))
    @binary = "#{ENV.fetch('CARGO_TARGET_DIR', "#{ROOT}/target")}/release/powerband"
    Build.release("bench/mirror", "powerband-cli")
    @machine = Machine.new
    @rows = []
  end

  def run
    puts "| run | named first | twin | ratio, second to first | interval | verdict |", "|---|---|---|---|---|---|"
    @runs.times do |number|
      names, twin = SETUPS[number % SETUPS.size]
      @rows << measured(names, twin)
      puts "| #{number + 1} | #{names.first} | #{twin || 'none'} | #{@rows.last.join(' | ')} |"
      $stdout.flush
    end
    puts "", "#{Time.now.utc.strftime('%Y-%m-%d')}, #{Figures.machine}: #{claims} of #{@rows.size} runs claim a difference; " \
             "the shadow named first was faster in #{first_faster}."
    fair?
  end

  private

  def claims = @rows.count { |row| %w[better worse].include?(row.last) }
  def first_faster = @rows.count { |row| Float(row.first) > 1 }

  def fair?
    Binomial.plausible?(claims, of: @rows.size, at: NOMINAL) &&
      [first_faster, @rows.size - first_faster].all? { |side| Binomial.plausible?(side, of: @rows.size, at: 0.5) }
  end

  # Each run starts new servers, so that what a process has by chance, such as its memory layout, does not recur.
  def measured(names, twin)
    Dir.mktmpdir("bench-identical-") do |folder|
      primary, *shadows = ["primary", *names].map { |name| puma(folder, name) }
      servers = [primary, *shadows].each(&:await)
      copies = names.zip(shadows).flat_map { |name, server| ["--shadow", "#{name}=http://127.0.0.1:#{server.port}"] }
      found = mirrored(folder, primary, copies + (twin ? ["--twin", twin] : []))
      row_of(found, names)
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

  # As a ratio of the shadow that was named second to the first.
  def row_of(document, names)
    found = document.fetch("comparisons").find { |one| one.values_at("candidate", "reference").sort == names.sort }
    raise "no comparison of #{names.join(' and ')}" unless found

    mean = found.dig("all", "mean")
    ratio, low, high = mean.values_at("ratio", "low", "high")
    ratio, low, high = [ratio, high, low].map { |bound| 1 / bound } if found["candidate"] == names.first
    shown = ->(value) { format("%.3f", value) }
    [shown.call(ratio), "#{shown.call(low)} to #{shown.call(high)}", found.fetch("outcome")]
  end
end

exit Identical.new(Integer(ARGV.fetch(0, 40))).run
