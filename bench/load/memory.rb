# frozen_string_literal: true

# Memory over a long run: the generator's resident set, sampled as it sends as fast as it can.
class Memory
  def initialize(bench, seconds:)
    @bench = bench
    @seconds = seconds
  end

  def table
    @bench.progress "memory over #{@seconds} s"
    samples = []
    sampler = Thread.new { loop { sleep(1) && sample(samples) } }
    run = @bench.machine.generate(@bench.powerband.closed(@bench.server.url, @seconds))
    sampler.kill.join
    requests = @bench.powerband.report(run.output).requests
    settled = samples.drop_while { |second, _| second < @seconds / 10.0 }.map(&:last)
    growth = format("%+d KiB", settled.last - settled.first)
    rows = [[requests, @seconds, kib(settled.first), kib(settled.last), kib(settled.max), growth]]
    Figures.markdown(["requests", "seconds", "resident after a tenth", "at the end", "most", "growth"], rows)
  end

  private

  def sample(samples)
    @began ||= @bench.machine.now
    # taskset becomes the generator, which is the only child other than nginx.
    children = File.read("/proc/self/task/#{Process.pid}/children").split
    pid = children.find { |child| File.read("/proc/#{child}/comm").start_with?("powerband") }
    rss = pid && File.read("/proc/#{pid}/status")[/^VmRSS:\s*(\d+)/, 1]
    samples << [@bench.machine.now - @began, rss.to_i] if rss
  rescue SystemCallError
    nil # it has just ended
  end

  def kib(value) = "#{value} KiB"
end
