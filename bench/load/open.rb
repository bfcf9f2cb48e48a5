# frozen_string_literal: true

require_relative "sends"

# The open loop: how near to its schedule each generator that has a rate sends, and whether it keeps the rate.
class Open
  RATES = [1_000, 5_000, 20_000].freeze

  def initialize(bench, rounds:, seconds:)
    @bench = bench
    @rounds = rounds
    @seconds = seconds
  end

  def table
    return "Not measured: needs tcpdump, and root to run it.\n" unless Sends.available?

    rows = RATES.flat_map { |rate| rows_of(rate, measured(rate)) }
    Figures.markdown(["asked/s", "generator", "sends within 50 µs", "p99 after schedule", "sent/s, of asked",
                      "p99 by its own account"], rows)
  end

  private

  def measured(rate)
    tools = ([@bench.powerband] + @bench.peers).select { |tool| tool.at_rate(@bench.server.url, rate, @seconds) }
    @bench.rounds(@rounds, tools, "open loop, #{rate}/s") do |tool|
      run, sends = Sends.captured(@bench.server.port) do
        @bench.machine.generate(tool.at_rate(@bench.server.url, rate, @seconds))
      end
      [sends.fit(rate), tool.report(run.output)]
    end
  end

  # The worst of the rounds is shown: a target that one round misses is missed.
  def rows_of(rate, runs)
    runs.map do |tool, rounds|
      fits = rounds.map(&:first)
      worst_rate = fits.map { |fit| (fit.per_s / rate) - 1 }.max_by(&:abs)
      own = rounds.filter_map { |_, said| said.late_p99_us }.max
      [rate, tool.name, format("%.2f %%", fits.map(&:within_50_us).min * 100), duration(fits.map(&:p99_us).max),
       format("%+.3f %%", worst_rate * 100), own ? duration(own) : "-"]
    end
  end

  def duration(micros)
    micros < 10_000 ? format("%.0f µs", micros) : format("%.0f ms", micros / 1e3)
  end
end
