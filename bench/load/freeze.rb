# frozen_string_literal: true

# A server that freezes: what its users would feel by arithmetic, and what each generator reports.
class Freeze
  RATE = 1_000

  def initialize(bench, freeze_s:, period_s:, periods:)
    @bench = bench
    @freeze_s = freeze_s
    @period_s = period_s
    @periods = periods
  end

  def table
    rows = modes.map do |label, tool, command|
      @bench.progress "a freezing server: #{label}"
      run, freezes = frozen { @bench.machine.generate(command) }
      said = tool.report(run.output)
      [label, *[[0.99, said.p99_ms], [0.999, said.p999_ms]].flat_map { |share, ms| beside(expected_ms(share, freezes), ms) },
       said.note || ""]
    end
    Figures.markdown(["generator", "p99 due", "p99 reported", "p99.9 due", "p99.9 reported", "it also says"], rows)
  end

  private

  def seconds = @period_s * @periods

  def modes
    url = @bench.server.url
    ours = @bench.powerband
    rows = [["#{ours.name} --rate #{RATE}", ours, ours.at_rate(url, RATE, seconds)]]
    @bench.peers.each do |tool|
      rows << ["#{tool.name} closed, #{Tools::CONNECTIONS} connections", tool, tool.closed(url, seconds)]
      rate = tool.at_rate(url, RATE, seconds)
      rows << ["#{tool.name} #{rate.last(2).join(' ')}", tool, rate] if rate
      corrected = tool.corrected(url, RATE, seconds)
      rows << ["#{tool.name} -q #{RATE} --latency-correction", tool, corrected] if corrected
    end
    rows
  end

  # Freezes nginx's worker on an absolute schedule while the block runs; returns how long it really was frozen.
  def frozen
    freezes = []
    began = @bench.machine.now
    freezer = Thread.new do
      @periods.times do |number|
        # In the middle of each period, so that every wait ends within the run.
        start = began + (@period_s * number) + ((@period_s - @freeze_s) / 2.0)
        sleep_until(start)
        Process.kill(:STOP, @bench.server.worker)
        stopped = @bench.machine.now
        sleep_until(start + @freeze_s)
        Process.kill(:CONT, @bench.server.worker)
        freezes << (@bench.machine.now - stopped)
      end
    end
    result = yield
    freezer.join
    [result, freezes]
  end

  def sleep_until(instant)
    left = instant - @bench.machine.now
    sleep(left) if left.positive?
  end

  # Of requests that are due at a constant rate, those due in a freeze of length F wait for its end: the share
  # sum(F - x) / T of all waits longer than x. Catching up and the answer itself add to that and are left out.
  def expected_ms(quantile, freezes)
    waiting = (1 - quantile) * seconds
    low = 0.0
    high = freezes.max
    60.times do
      middle = (low + high) / 2
      freezes.sum { |length| [length - middle, 0].max } > waiting ? low = middle : high = middle
    end
    low * 1e3
  end

  def beside(expected, reported)
    return [format("%.0f ms", expected), "-"] unless reported

    off = format("%+.1f %%", ((reported / expected) - 1) * 100)
    [format("%.0f ms", expected), "#{reported.round} ms (#{off})"]
  end
end
