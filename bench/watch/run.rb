# frozen_string_literal: true

# What `powerband watch` costs on 32 processes: `ruby bench/watch/run.rb`. QUICK=1 takes half a minute and proves that it works.
# Prints the table and writes it; see README.md in this folder.

require "io/console"
require "pty"
require_relative "../support/build"
require_relative "../support/cluster"
require_relative "../support/figures"

QUICK = ENV["QUICK"] == "1"
SECONDS = QUICK ? 4 : 30
ROUNDS = QUICK ? 1 : 2

# `powerband watch` under a terminal for some seconds.
class Watch
  SCREENS = {
    "all processes" => [],
    "one process in detail" => :pid,
    "one endpoint in detail" => ["--endpoint", "GET /#{Cluster::ENDPOINTS.first}"]
  }.freeze

  def initialize(binary, site)
    @binary = binary
    @site = site
  end

  # CPU time of the whole program by wall time, its start and its reading of PSS included.
  def share_of_a_core(screen)
    words = SCREENS.fetch(screen)
    words = ["--pid", @site.worker.to_s] if words == :pid
    before = cpu_s
    began = Clock.now
    show(words)
    (cpu_s - before) / (Clock.now - began)
  end

  private

  def show(words)
    main, terminal = PTY.open
    terminal.winsize = [50, 160]
    pid = Process.spawn({ "TERM" => "xterm" }, @binary, "watch", *words, "#{@site.folder}/flight", in: terminal, out: terminal,
                                                                                                   err: terminal)
    shown = +""
    reader = Thread.new { loop { shown << main.readpartial(1 << 16) } }
    reader.report_on_exception = false
    sleep SECONDS
    Process.kill(:TERM, pid)
    Process.wait(pid)
    abort "bench/watch: nothing was shown:\n#{shown}" unless shown.include?("req/s")
    reader.kill
    [main, terminal].each(&:close)
  end

  def cpu_s
    times = Process.times
    times.cutime + times.cstime
  end
end

binary = Build.program_and_agent("bench/watch")
site = Cluster.new("bench/watch", binary)
watch = Watch.new(binary, site)
begin
  shares = site.under_load do
    Figures.rounds(ROUNDS, Watch::SCREENS.keys, Random.new(1)) { |screen| watch.share_of_a_core(screen) }
  end
ensure
  site.close
end
percent = ->(share) { format("%.2f %%", 100 * share) }
rows = shares.map { |screen, all| [screen, percent[Figures.median(all)], percent[all.min], percent[all.max]] }
text = <<~MARKDOWN
  # What the live view costs

  Made by `ruby bench/watch/run.rb` on #{Time.now.utc.strftime('%Y-%m-%d')}: #{Figures.machine}; Ruby #{RUBY_VERSION}. What is measured how:
  [README.md](README.md).

  #{Cluster::PROCESSES} processes, each with #{Cluster::ENDPOINTS.length} endpoints, read once a second; #{Cluster::RATE_PER_S} requests a second; #{ROUNDS} × #{SECONDS} s a screen;
  load average at the end #{File.read('/proc/loadavg').split.first}.

MARKDOWN
text << Figures.markdown(["screen", "CPU of one core, median", "least", "most"], rows)
Figures.publish("watch", text, full: !QUICK)
