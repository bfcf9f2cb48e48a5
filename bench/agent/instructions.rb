# frozen_string_literal: true

require_relative "site"

# What one request more makes the server's process execute, counted by valgrind: the figure without noise behind the
# throughput, which the machine's caches make more or less of.
class Instructions
  FEW = 1000

  def initialize(bench, site, requests:, arms: Bench::ARMS)
    @bench = bench
    @site = site
    @requests = requests
    @arms = arms
  end

  def table
    counts = @arms.to_h { |arm| [arm, (count(arm, FEW + @requests) - count(arm, FEW)) / @requests.to_f] }
    rows = counts.map do |arm, n|
      [arm, format("%.0f", n), format("%+.0f", n - counts["none"]), format("%+.1f %%", (n / counts["none"] - 1) * 100)]
    end
    Figures.markdown(["arm", "instructions a request", "more than without", ""], rows)
  end

  private

  # Of the whole life of a process that served so many.
  def count(arm, requests)
    @bench.progress "#{@site.name} under valgrind: #{arm}, #{requests} requests"
    out = "#{@bench.folder}/callgrind"
    server = Served.new(@bench, @site, arm, under: ["valgrind", "--tool=callgrind", "--callgrind-out-file=#{out}"])
    server.await
    server.load("-n", requests.to_s, "--duration", "10m")
    server.stop
    server = nil
    Integer(File.read(out)[/^totals: (\d+)/, 1])
  ensure
    server&.stop
  end
end
