# frozen_string_literal: true

# The closed loop: what a request costs each generator, and how many a second it gets out of the same server.
class Closed
  Round = Struct.new(:cpu_us, :per_s)

  def initialize(bench, rounds:, seconds:)
    @bench = bench
    @rounds = rounds
    @seconds = seconds
  end

  def table
    rounds = measured
    ours = @bench.powerband.name
    rows = rounds.map do |name, figures|
      cpu, rate = %i[cpu_us per_s].map { |figure| figures.map(&figure) }
      [name, format("%.2f", Figures.median(cpu)), format("%.0f", Figures.median(rate))] +
        if name == ours
          %w[- -]
        else
          %i[cpu_us per_s].map { |figure| @bench.ratio(rounds[name].map(&figure), rounds[ours].map(&figure)) }
        end
    end
    head = ["generator", "CPU µs/request", "requests/s", "Powerband's CPU to its", "Powerband's requests/s to its"]
    Figures.markdown(head, rows)
  end

  private

  def measured
    rounds = @bench.rounds(@rounds, [@bench.powerband] + @bench.peers, "closed loop") { |tool| once(tool) }
    rounds.transform_keys(&:name)
  end

  def once(tool)
    before = @bench.server.requests
    run = @bench.machine.generate(tool.closed(@bench.server.url, @seconds))
    answered = @bench.server.requests - before - 1
    said = tool.report(run.output)
    # The server's own count, so that nobody is believed: a generator may leave what is under way at its end uncounted.
    if (said.requests - answered).abs > 2 * Tools::CONNECTIONS
      raise "#{tool.name} counted #{said.requests} answers, the server gave #{answered}"
    end

    Round.new(run.cpu_s / answered * 1e6, said.requests / said.seconds)
  end
end
