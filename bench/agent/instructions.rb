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
    counts = @arms.to_h { |arm| [arm, per_request(arm)] }
    rows = counts.map do |arm, n|
      [arm, format("%.0f", n), format("%+.0f", n - counts["none"]), format("%+.2f %%", (n / counts["none"] - 1) * 100)]
    end
    Figures.markdown(["arm", "instructions a request", "more than without", ""], rows)
  end

  private

  def per_request(arm)
    (count(arm, FEW + @requests) - count(arm, FEW)) / @requests.to_f
  end

  # Of the whole life of a process that served so many.
  def count(arm, requests)
    @bench.progress "#{@site.name} under valgrind: #{arm}, #{requests} requests"
    out = "#{@bench.folder}/callgrind"
    server = Served.new(@bench, @site, arm, under: valgrind(out))
    server.await
    server.load("-n", requests.to_s, "--duration", "10m")
    server.stop
    server = nil
    total(out)
  ensure
    server&.stop
  end

  def valgrind(out, *more) = ["valgrind", "--tool=callgrind", *more, "--callgrind-out-file=#{out}"]

  def total(out) = Integer(File.read(out)[/^totals: (\d+)/, 1])
end

# The same of an application whose collector runs now and then, a run of it in one measurement and not in the other: warmed up
# uncounted, then counted with the collector off, one request at a time.
class InstructionsWithoutGC < Instructions
  WARM = 40
  # A page of Redmine takes seconds under valgrind.
  PATIENTLY = ["--duration", "1h", "--timeout", "120s", "--seed", "1"].freeze

  def initialize(bench, site, requests:)
    super(bench, site.dup.tap { |own| own.preload = "#{__dir__}/without_gc.rb" }, requests:, arms: %w[none powerband])
  end

  private

  def per_request(arm)
    @bench.progress "#{@site.name} under valgrind, the collector off: #{arm}, #{@requests} requests"
    out, off = %w[callgrind without-gc].map { |name| "#{@bench.folder}/#{name}" }
    @site.env = @site.env.merge("AGENT_BENCH_WITHOUT_GC" => off)
    server = Served.new(@bench, @site, arm, under: valgrind(out, "--instr-atstart=no"))
    server.await
    server.load("-n", WARM.to_s, *PATIENTLY, clients: 1)
    FileUtils.touch(off)
    # The thread that looks for the file has its turn.
    server.load("-n", "2", *PATIENTLY, clients: 1)
    server.counting { server.load("-n", @requests.to_s, *PATIENTLY, clients: 1) }
    server.stop
    server = nil
    total(out) / @requests.to_f
  ensure
    server&.stop
    FileUtils.rm_f(off)
  end
end
